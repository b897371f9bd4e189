// The ranking: a table of any length, of which only the rows in sight are in the document.
import { $, element } from "./dom.js";
import { formatCell, formatCount, formatNumber, formatPercent, formatRow, labelName } from "./format.js";
import { getState, subscribe, update } from "./store.js";
import { indexOf, loadExplanations, loadRowsAt, rowAt } from "./loading.js";
import { labelRow, selectRow, setOrder } from "./actions.js";
import { contributionBars } from "./contributions.js";
import { positionOf } from "./score-axis.js";
import { readPalette } from "./colours.js";

const ROW_HEIGHT = 34; // pixels
const MAX_HEIGHT = 8_000_000; // pixels: browsers draw nothing beyond some 30 million
const MAX_COLUMNS = 24; // of the table; the row's card has all of them
const EXPLANATION_DELAY_MS = 120; // rows that are only scrolled past are not explained

let explanationTimer = null;

export function setUpRanking() {
  $("scroll").addEventListener("scroll", () => requestAnimationFrame(onScroll));
  for (const input of document.querySelectorAll("input[name=by]")) {
    input.addEventListener("change", () => setOrder(input.value));
  }
  $("grid-body").addEventListener("click", onClick);
  new ResizeObserver(drawRows).observe($("scroll"));
  subscribe(({ table }) => table && renderHead(table), ["tablesOpened"]);
  subscribe(renderOrder, ["tablesOpened", "order"]);
  subscribe(({ rowsOutdated }) => $("grid").classList.toggle("stale", rowsOutdated), ["rowsOutdated"]);
  subscribe(({ rows }) => setHeight(rows.total), ["rows"]);
  subscribe(drawRows, ["rows", "explanations", "selected", "threshold", "firstVisible"]);
}

function onClick(event) {
  const tr = event.target.closest("tr");
  if (!tr?.dataset.row) return;
  const row = Number(tr.dataset.row);
  const label = event.target.closest("button")?.dataset.label;
  if (label) labelRow(row, label);
  else selectRow(row);
}

// Scrolling. The table sticks to the top of a box as tall as all rows would be. If that is taller than MAX_HEIGHT, one
// pixel of scrolling passes more rows than fit into it.

const nVisible = () => Math.max(3, Math.floor(($("scroll").clientHeight - ROW_HEIGHT - 2) / ROW_HEIGHT));

function setHeight(total) {
  $("tall").style.height = `${Math.min((total + 1) * ROW_HEIGHT, MAX_HEIGHT)}px`;
  $("grid").setAttribute("aria-rowcount", total + 1);
}

function onScroll() {
  const { scrollHeight, clientHeight, scrollTop } = $("scroll");
  const maxScrollTop = scrollHeight - clientHeight;
  const lastFirst = Math.max(0, getState().rows.total - nVisible());
  update({ firstVisible: maxScrollTop <= 0 ? 0 : Math.round((scrollTop / maxScrollTop) * lastFirst) });
}

// Scroll just so far that an index of the ranking is in sight.
function scrollToIndex(index) {
  const { firstVisible, rows: { total } } = getState();
  if (index >= firstVisible && index < firstVisible + nVisible()) return;
  const wanted = index < firstVisible ? index : index - nVisible() + 1;
  const first = Math.max(0, Math.min(wanted, total - nVisible()));
  update({ firstVisible: first });
  const { scrollHeight, clientHeight } = $("scroll");
  $("scroll").scrollTop = (first / Math.max(1, total - nVisible())) * (scrollHeight - clientHeight);
}

// Show a row that was selected elsewhere, if the rows are ranked by score. index: in this ranking, null for none.
export function revealRanked(index) {
  if (getState().order === "score" && index !== null) scrollToIndex(index);
}

// Select the row that is so many rows below the selected one.
export async function moveSelection(step) {
  const { rows, selected, firstVisible } = getState();
  if (rows.total === 0) return;
  const index = indexOf(rows, selected);
  const target = Math.min(Math.max(index === null ? firstVisible : index + step, 0), rows.total - 1);
  await loadRowsAt([target]);
  scrollToIndex(target);
  const row = rowAt(getState().rows, target);
  if (row) selectRow(row.row);
}

// Rendering.

function renderOrder({ order }) {
  document.querySelector(`input[name=by][value=${order}]`).checked = true;
  $("scroll").scrollTop = 0;
}

function renderHead({ columns }) {
  const names = ["Row", "Label", "Score", "Probability", "Why", ...columns.slice(0, MAX_COLUMNS).map(({ name }) => name)];
  if (columns.length > MAX_COLUMNS) names.push(`and ${formatCount(columns.length - MAX_COLUMNS)} more`);
  const tr = element("tr");
  for (const name of names) {
    const cell = element("th", "", name);
    cell.scope = "col";
    cell.title = name;
    tr.append(cell);
  }
  $("grid-head").replaceChildren(tr);
}

function visibleIndices() {
  const { firstVisible, rows: { total } } = getState();
  const n = Math.max(0, Math.min(nVisible(), total - firstVisible));
  return Array.from({ length: n }, (_, offset) => firstVisible + offset);
}

export function drawRows() {
  const { table, rows, rowsOutdated, firstVisible, selected } = getState();
  if (!table || rowsOutdated) return; // the rows of the ranking before stay until the new ones are here
  const palette = readPalette();
  const indices = visibleIndices();
  $("grid-body").replaceChildren(...indices.map((index) => {
    const row = rowAt(rows, index);
    return row ? rowLine(row, index, palette) : placeholderLine(index);
  }));
  $("grid").classList.toggle("without-probability", (rowAt(rows, firstVisible)?.probability ?? null) === null);
  if ($(`row-${selected}`)) $("grid").setAttribute("aria-activedescendant", `row-${selected}`);
  else $("grid").removeAttribute("aria-activedescendant");
  loadRowsAt(indices);
  clearTimeout(explanationTimer);
  explanationTimer = setTimeout(explainVisible, EXPLANATION_DELAY_MS);
}

function explainVisible() {
  const visible = visibleIndices().map((index) => rowAt(getState().rows, index));
  loadExplanations(visible.filter((row) => row && row.score !== null).map((row) => row.row));
}

function placeholderLine(index) {
  const tr = element("tr");
  tr.setAttribute("aria-rowindex", index + 2);
  const cell = element("td", "soft", "…");
  cell.colSpan = 5;
  tr.append(cell);
  return tr;
}

function rowLine(row, index, palette) {
  const { order, selected, threshold, explanations } = getState();
  const tr = element("tr");
  tr.id = `row-${row.row}`;
  tr.dataset.row = row.row;
  tr.setAttribute("aria-rowindex", index + 2);
  tr.setAttribute("aria-selected", row.row === selected);
  if (order === "score" && threshold?.above && index === threshold.above - 1) tr.className = "cut";
  const why = element("td");
  const explanation = explanations.get(row.row);
  if (explanation) why.append(contributionBars(explanation));
  tr.append(element("td", "number", formatRow(row.row)), labelCell(row), scoreCell(row, palette));
  tr.append(element("td", "number", formatPercent(row.probability)), why);
  tr.append(...row.cells.slice(0, MAX_COLUMNS).map(valueCell));
  return tr;
}

function valueCell(value) {
  if (value === null) return element("td", "gap", "–");
  return element("td", typeof value === "number" ? "number" : "", formatCell(value));
}

function labelCell(row) {
  const cell = element("td");
  if (row.label !== null) {
    cell.append(element("span", `tag ${labelName(row.label)}`, labelName(row.label)));
    return cell;
  }
  const buttons = element("span", "quick");
  for (const [name, letter] of [["normal", "N"], ["anomaly", "A"]]) {
    const button = element("button", letter.toLowerCase(), letter);
    button.type = "button";
    button.tabIndex = -1;
    button.dataset.label = name;
    button.title = name;
    button.setAttribute("aria-label", `Label row ${row.row + 1} ${name}`);
    buttons.append(button);
  }
  cell.append(buttons);
  if (row.row === getState().suggestion) cell.append(" ", element("span", "tag next", "next"));
  return cell;
}

function scoreCell(row, palette) {
  const cell = element("td", "number", formatNumber(row.score));
  if (row.score === null) return cell;
  const position = positionOf(getState().ranking.axis, row.score);
  const meter = element("span", "meter");
  const fill = element("i");
  fill.style.width = `${Math.max(4, 100 * position)}%`;
  fill.style.background = palette.forPosition(position);
  meter.append(fill);
  cell.append(meter);
  return cell;
}
