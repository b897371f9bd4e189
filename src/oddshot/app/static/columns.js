// The columns: kind, missing values, content and first rows. A checkbox decides whether the detector uses a column.
import { $, element } from "./dom.js";
import { describeColumns, formatCell, formatCount, formatPercent } from "./format.js";
import { getState, subscribe } from "./store.js";
import { LEFT_OUT, changeKind } from "./grid-actions.js";
import { nameRowsBy } from "./actions.js";

const MAX_CHARACTERS = 24; // of a cell of the first rows

export function setUpColumns() {
  subscribe(({ table }) => table && render(table), ["tablesOpened"]);
  subscribe(renderIdColumn, ["tablesOpened", "edits"]);
  $("id-column").addEventListener("change", ({ target }) => nameRowsBy(target.value || null));
  $("id-proposal").addEventListener("click", () => nameRowsBy(getState().table.id_proposal));
}

const ROW_NUMBER = ""; // the value of the option

function renderIdColumn({ table, edits }) {
  if (!table) return;
  const option = (value, text) => Object.assign(element("option", "", text), { value });
  $("id-column").replaceChildren(option(ROW_NUMBER, "row number"), ...table.columns.map(({ name }) => option(name, name)));
  $("id-column").value = edits.id_column ?? ROW_NUMBER;
  $("id-proposal").hidden = !table.id_proposal || edits.id_column !== null;
  $("id-proposal").textContent = `Name them by ${table.id_proposal}`;
}

function render(table) {
  $("columns-facts").textContent = describeColumns(table);
  $("notices").replaceChildren(...table.notices.map((notice) => element("li", "", notice)));
  $("columns-rows").replaceChildren(...table.columns.map((_, index) => columnRow(table, index)));
}

function columnRow(table, index) {
  const { name, kind, missing, note } = table.columns[index];
  const tr = element("tr");
  const used = element("td");
  used.append(usedCheckbox(table, name, kind));
  const share = `${formatCount(missing)} (${formatPercent(missing / table.rows)})`;
  const firstRows = table.preview.map((row) => shorten(formatCell(row[index])) || "–").join(" · ");
  tr.append(used, element("td", "", name), element("td", "", kind));
  tr.append(missing ? element("td", "", share) : element("td", "soft", "none"));
  tr.append(element("td", "soft", note), element("td", "soft", firstRows));
  return tr;
}

// A column that the person left out can be used again; one that the detector cannot use stays unused.
function usedCheckbox(table, name, kind) {
  const checkbox = element("input");
  checkbox.type = "checkbox";
  checkbox.checked = kind !== "not used";
  checkbox.disabled = kind === "not used" && !table.left_out.includes(name);
  checkbox.setAttribute("aria-label", `Use column ${name}`);
  if (checkbox.disabled) checkbox.title = "The menu of the column in the ranking says what else it can be used as";
  checkbox.addEventListener("change", () => changeKind(name, checkbox.checked ? getState().edits.kinds[name] ?? null : LEFT_OUT));
  return checkbox;
}

const shorten = (text) => (text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS - 1)}…` : text);
