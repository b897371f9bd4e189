// The columns by kind, with what is missing and the first rows; a box decides whether the detector sees one.
import { $, count, element, shown } from "./dom.js";

const PLURAL = { number: "numbers", category: "categories", boolean: "booleans", date: "dates", "not used": "not used" };

const short = (text) => (text.length > 24 ? `${text.slice(0, 23)}…` : text);

export function facts(table) {
  const kinds = new Map();
  for (const column of table.columns) kinds.set(column.kind, (kinds.get(column.kind) ?? 0) + 1);
  const parts = [...kinds].map(([kind, n]) => `${count(n)} ${n === 1 ? kind : PLURAL[kind]}`);
  const missing = table.columns.reduce((sum, column) => sum + column.missing, 0);
  return `${parts.join(", ")}; ${missing ? `${count(missing)} missing value${missing === 1 ? "" : "s"}` : "no missing values"}`;
}

export function showColumns(table, onChange) {
  $("columns-facts").textContent = facts(table);
  $("notices").replaceChildren(...table.notices.map((notice) => element("li", "", notice)));
  $("columns-rows").replaceChildren(...table.columns.map((column, j) => columnLine(table, column, j, onChange)));
}

function columnLine(table, column, j, onChange) {
  const tr = element("tr");
  const box = element("input");
  const byPerson = table.left_out.includes(column.name);
  box.type = "checkbox";
  box.checked = column.kind !== "not used";
  box.disabled = column.kind === "not used" && !byPerson;
  box.setAttribute("aria-label", `Use column ${column.name}`);
  box.addEventListener("change", () => {
    const others = table.left_out.filter((name) => name !== column.name);
    onChange(box.checked ? others : [...others, column.name]);
  });
  const used = element("td");
  used.append(box);
  const first = table.preview.map((row) => short(shown(row[j])) || "–").join(" · ");
  tr.append(used, element("td", "", column.name), element("td", "", column.kind));
  tr.append(element("td", column.missing ? "" : "soft", column.missing ? `${count(column.missing)} (${((100 * column.missing) / table.rows).toFixed(1)} %)` : "none"));
  tr.append(element("td", "soft", column.note), element("td", "soft", first));
  return tr;
}
