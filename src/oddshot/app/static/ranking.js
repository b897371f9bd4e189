// The ranking: a table of any length, of which only the rows in sight are in the document.
import { $ } from "./dom.js";
import { getState, subscribe, update } from "./store.js";
import { indexOf, loadExplanations, loadRowsAt, rowAt } from "./loading.js";
import { isFiltered, sortDirection } from "./query.js";
import { labelRow, selectCell, selectRow } from "./actions.js";
import { lineMaker, placeholderLine } from "./grid-rows.js";
import { formatCount } from "./format.js";
import { readPalette } from "./colours.js";
import { setSort } from "./grid-actions.js";
import { countLeftOver, shownColumns } from "./grid-columns.js";

const ROW_HEIGHT = 34; // pixels
const MAX_HEIGHT = 8_000_000; // pixels: browsers draw nothing beyond some 30 million
const EXPLANATION_DELAY_MS = 120; // rows that are only scrolled past are not explained

let explanationTimer = null;

export function setUpRanking() {
  $("scroll").addEventListener("scroll", () => requestAnimationFrame(onScroll));
  for (const input of document.querySelectorAll("input[name=by]")) {
    input.addEventListener("change", () => setSort({ by: input.value }));
  }
  $("grid-body").addEventListener("click", onClick);
  $("more-columns").addEventListener("click", scrollRight);
  new ResizeObserver(drawRows).observe($("scroll"));
  subscribe(renderOrder, ["tablesOpened", "query"]);
  subscribe(({ rowsOutdated }) => $("grid").classList.toggle("stale", rowsOutdated), ["rowsOutdated"]);
  subscribe(({ rows }) => setHeight(rows.total), ["rows"]);
  subscribe(drawRows, ["rows", "explanations", "selected", "selectedColumn", "threshold", "firstVisible", "edits"]);
}

function onClick(event) {
  const tr = event.target.closest("tr");
  if (!tr?.dataset.row) return;
  const row = Number(tr.dataset.row);
  const label = event.target.closest("button")?.dataset.label;
  if (label) labelRow(row, label);
  else selectCell(row, event.target.closest("td")?.dataset.column ?? null);
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
  renderEdges();
  const firstVisible = maxScrollTop <= 0 ? 0 : Math.round((scrollTop / maxScrollTop) * lastFirst);
  if (firstVisible !== getState().firstVisible) update({ firstVisible });
}

// Columns beyond the right edge: a shadow there, and how many they are, with those that there is no room for at all.
function renderEdges() {
  const { scrollLeft, scrollWidth, clientWidth, clientHeight, offsetWidth, offsetHeight } = $("scroll");
  const right = $("scroll").getBoundingClientRect().left + clientWidth;
  const { table, edits } = getState();
  const beyond = [...$("grid-head").querySelectorAll("th[data-key]")].filter((cell) => cell.getBoundingClientRect().right > right + 2);
  const n = beyond.length + (table ? countLeftOver(table.columns, edits) : 0);
  $("frame").style.setProperty("--bar-width", `${offsetWidth - clientWidth - 2}px`); // of the scroll bar
  $("frame").style.setProperty("--bar-height", `${offsetHeight - clientHeight - 2}px`);
  $("frame").classList.toggle("more-right", scrollLeft + clientWidth < scrollWidth - 2);
  $("frame").classList.toggle("more-left", scrollLeft > 2);
  $("more-columns").hidden = beyond.length === 0;
  $("more-columns").textContent = `${formatCount(n)} more ${n === 1 ? "column" : "columns"} →`;
}

function scrollRight() {
  $("scroll").scrollBy({ left: 0.6 * $("scroll").clientWidth });
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

// Show a row that was selected elsewhere, if all rows are ranked by score. index: in this ranking, null for none.
export function revealRanked(index) {
  const { query } = getState();
  if (index !== null && sortDirection(query, "score") === "descending" && !isFiltered(query)) scrollToIndex(index);
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

// Select the cell that is one column to the right (1) or left (-1); to the left of the first one is the whole row.
export function moveCell(step) {
  const { table, edits, selected, selectedColumn } = getState();
  const names = shownColumns(table.columns, edits).map(({ name }) => name);
  const place = Math.min(names.indexOf(selectedColumn) + step, names.length - 1);
  selectCell(selected, names[place] ?? null);
  $("selected-cell")?.scrollIntoView({ block: "nearest", inline: "nearest" });
}

// Rendering.

function renderOrder({ id, query }, before) {
  for (const input of document.querySelectorAll("input[name=by]")) {
    const direction = sortDirection(query, input.value);
    input.checked = direction !== null && direction === sortDirection({ by: input.value, descending: null }, input.value);
  }
  if (query !== before.query || id !== before.id) $("scroll").scrollTop = 0;
}

function visibleIndices() {
  const { firstVisible, rows: { total } } = getState();
  const n = Math.max(0, Math.min(nVisible(), total - firstVisible));
  return Array.from({ length: n }, (_, offset) => firstVisible + offset);
}

export function drawRows() {
  const { table, rows, rowsOutdated, firstVisible, selected, selectedColumn } = getState();
  if (!table || rowsOutdated) return; // the rows of the ranking before stay until the new ones are here
  const makeLine = lineMaker(readPalette());
  const indices = visibleIndices();
  $("grid-body").replaceChildren(...indices.map((index) => {
    const row = rowAt(rows, index);
    return row ? makeLine(row, index) : placeholderLine(index);
  }));
  $("grid").classList.toggle("without-probability", (rowAt(rows, firstVisible)?.probability ?? null) === null);
  const active = $(selectedColumn === null ? `row-${selected}` : "selected-cell");
  if (active) $("grid").setAttribute("aria-activedescendant", active.id);
  else $("grid").removeAttribute("aria-activedescendant");
  renderEdges();
  loadRowsAt(indices);
  clearTimeout(explanationTimer);
  explanationTimer = setTimeout(explainVisible, EXPLANATION_DELAY_MS);
}

function explainVisible() {
  const visible = visibleIndices().map((index) => rowAt(getState().rows, index));
  loadExplanations(visible.filter((row) => row && row.score !== null).map((row) => row.row));
}
