// The card of the selected row: its values, what each column adds to its score, and the buttons that label it.
import { $, element } from "./dom.js";
import { formatCell, formatName, formatNumber, formatPercent, formatRow, labelName } from "./format.js";
import { getState, subscribe } from "./store.js";
import { labelSelected, noteRow, selectSuggestion } from "./actions.js";
import { copyRow } from "./grid-actions.js";

export function setUpRowCard() {
  $("label-normal").addEventListener("click", () => labelSelected("normal"));
  $("label-anomaly").addEventListener("click", () => labelSelected("anomaly"));
  $("label-none").addEventListener("click", () => labelSelected(null));
  $("row-note").addEventListener("change", ({ target }) => noteRow(Number(target.dataset.row), target.value));
  $("to-suggestion").addEventListener("click", selectSuggestion);
  $("copy-row").addEventListener("click", () => copyRow(getState().selected));
  subscribe(({ rowCard }) => {
    if (!rowCard) return; // the one before stays until the new one is here
    renderFacts(rowCard.facts);
    renderNote(rowCard);
    renderValues(rowCard);
  }, ["rowCard"]);
}

function renderFacts(facts) {
  const { suggestion } = getState();
  $("row-title").textContent = facts.name === null ? `Row ${formatRow(facts.row)}` : facts.name;
  renderOwnNote(facts.row);
  $("row-badge").hidden = facts.row !== suggestion;
  $("to-suggestion").hidden = suggestion === null || facts.row === suggestion;
  $("row-score").textContent = formatNumber(facts.score);
  $("row-probability-box").hidden = facts.probability === null;
  $("row-probability").textContent = formatPercent(facts.probability);
  $("row-rank").textContent = facts.place === null ? "–" : formatRow(facts.place);
  $("row-label").textContent = labelName(facts.label) || "none";
  $("label-normal").setAttribute("aria-pressed", facts.label === 0);
  $("label-anomaly").setAttribute("aria-pressed", facts.label === 1);
  $("label-none").disabled = facts.label === null;
}

// What the person is typing stays.
function renderOwnNote(row) {
  const note = $("row-note");
  if (document.activeElement === note && note.dataset.row === String(row)) return;
  note.dataset.row = row;
  note.value = getState().edits.notes[row] ?? "";
}

function renderNote({ compared, near, explained }) {
  $("why").classList.toggle("alone", !compared);
  $("compared-head").textContent = compared ? `Row ${formatName(compared)}` : "Compared";
  $("why-note").textContent = comparisonNote(compared, near, explained);
}

function comparisonNote(compared, near, explained) {
  if (!explained) return "The table has too many columns to tell what each adds.";
  if (!compared) return "Compared with the median row.";
  const nearest = near.length > 1 ? ` Nearest labelled rows: ${near.map(formatName).join(", ")}.` : "";
  return `Compared with row ${formatName(compared)}, the nearest one labelled normal.${nearest}`;
}

// One line for each column of the table, those that raise the score most first.
function renderValues({ facts, compared, columns, added }) {
  const addedBy = new Map(columns.map((name, index) => [name, added[index]]));
  const largest = Math.max(...added.map(Math.abs), 0) || 1;
  const lines = getState().table.columns.map(({ name, kind }, index) => ({
    name,
    value: formatCell(facts.cells[index]),
    comparedValue: compared ? formatCell(compared.cells[index]) : "",
    added: addedBy.get(name) ?? null,
    used: kind !== "not used",
  }));
  lines.sort((a, b) => (b.added ?? -Infinity) - (a.added ?? -Infinity));
  $("why-rows").replaceChildren(...lines.map((line) => valueRow(line, largest)));
}

function valueRow({ name, value, comparedValue, added, used }, largest) {
  const tr = element("tr");
  const head = element("th", "", name);
  head.scope = "row";
  tr.append(head, element("td", "", value), element("td", "soft", comparedValue), addedCell(added, used, largest));
  return tr;
}

function addedCell(added, used, largest) {
  const cell = element("td");
  if (added === null) {
    cell.append(element("span", "soft small", used ? "" : "not used"));
    return cell;
  }
  const bar = element("div", "adds");
  const fill = element("i", added > 0 ? "up" : "down");
  fill.style.width = `${(100 * Math.abs(added)) / largest}%`;
  bar.append(fill);
  cell.append(bar, element("span", "visually-hidden", formatNumber(added)));
  cell.title = `adds ${formatNumber(added)}`;
  return cell;
}
