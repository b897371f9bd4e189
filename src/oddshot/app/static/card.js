// The card of the selected row: its values, why it has its score, and the buttons to label it.
import { $, attempt, count, element, labelName, number, percent, shown } from "./dom.js";
import { get } from "./api.js";

const UNKNOWN = { columns: [], rows: [{ added: [], compared: -1, near: [] }] }; // of very wide tables

let asked = 0;

// Returns where the row stands in the ranking.
export async function showCard(row, state) {
  const mine = (asked += 1);
  const reasons = state.explained_rows ? get(`explain?rows=${row}`) : UNKNOWN;
  const [facts, why] = (await attempt(() => Promise.all([get(`row/${row}`), reasons]))) ?? [];
  if (!facts || mine !== asked) return null;
  const compared = why.rows[0].compared;
  const other = compared >= 0 ? await attempt(() => get(`row/${compared}`)) : null;
  if (mine !== asked) return null;
  figures(facts, state);
  note(why.rows[0], other, why === UNKNOWN);
  values(facts, other, why, state);
  return facts.place;
}

function figures(facts, state) {
  $("row-title").textContent = `Row ${count(facts.row + 1)}`;
  $("row-badge").hidden = facts.row !== state.suggestion;
  $("to-suggestion").hidden = state.suggestion === null || facts.row === state.suggestion;
  $("row-score").textContent = number(facts.score);
  $("row-probability-box").hidden = facts.probability === null;
  $("row-probability").textContent = percent(facts.probability);
  $("row-rank").textContent = facts.place === null ? "–" : count(facts.place + 1);
  $("row-label").textContent = labelName(facts.label) || "none";
  for (const [id, value] of [["label-normal", 0], ["label-anomaly", 1]]) $(id).setAttribute("aria-pressed", facts.label === value);
  $("label-none").disabled = facts.label === null;
}

function note(why, other, unknown) {
  const near = why.near.map((row) => count(row + 1)).join(", ");
  $("why").classList.toggle("alone", !other);
  $("compared-head").textContent = other ? `Row ${count(other.row + 1)}` : "Compared";
  $("why-note").textContent = other
    ? `Compared with row ${count(other.row + 1)}, the nearest one labelled normal.${why.near.length > 1 ? ` Nearest labelled rows: ${near}.` : ""}`
    : unknown ? "The table has too many columns to tell what each adds." : "Compared with the median row.";
}

function values(facts, other, { columns, rows: [{ added }] }, state) {
  const place = new Map(columns.map((name, k) => [name, k]));
  const lines = state.table.columns.map((column, j) => {
    const k = place.get(column.name);
    return { name: column.name, value: facts.cells[j], compared: other?.cells[j] ?? null, added: k === undefined ? null : added[k], used: column.kind !== "not used" };
  });
  lines.sort((a, b) => (b.added ?? -Infinity) - (a.added ?? -Infinity));
  const largest = Math.max(...added.map(Math.abs), 0) || 1;
  $("why-rows").replaceChildren(...lines.map((line) => valueLine(line, largest, Boolean(other))));
}

function valueLine({ name, value, compared, added, used }, largest, hasOther) {
  const tr = element("tr");
  const head = element("th", "", name);
  head.scope = "row";
  const bar = element("td");
  if (added === null) {
    bar.append(element("span", "soft small", used ? "" : "not used"));
  } else {
    const box = element("div", "adds");
    const fill = element("i", added > 0 ? "up" : "down");
    fill.style.width = `${(100 * Math.abs(added)) / largest}%`;
    box.append(fill);
    bar.append(box, element("span", "unseen", number(added)));
    bar.title = `adds ${number(added)}`;
  }
  tr.append(head, element("td", "", shown(value)), element("td", "soft", hasOther ? shown(compared) : ""), bar);
  return tr;
}
