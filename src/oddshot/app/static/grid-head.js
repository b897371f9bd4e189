// The header of the ranking: a click sorts, a small button opens the column's menu. It is one stop of the Tab key; arrows
// move between its buttons.
import { $, element } from "./dom.js";
import { countLeftOver, ownColumns, shownColumns } from "./grid-columns.js";
import { getState, subscribe } from "./store.js";
import { nextSort, sortDirection } from "./query.js";
import { formatCount } from "./format.js";
import { openColumnMenu } from "./column-menu.js";
import { setSort } from "./grid-actions.js";

const STEPS = { ArrowRight: 1, ArrowLeft: -1 };
const LAST_WIDTH = 104; // of the header "and 12 more", in pixels

export function setUpGridHead() {
  const head = $("grid-head");
  head.addEventListener("click", onClick);
  head.addEventListener("keydown", onKey);
  head.addEventListener("focusin", (event) => moveTabStop(event.target));
  subscribe(({ table }) => table && render(), ["tablesOpened", "edits"]);
  subscribe(({ table }) => table && renderSorting(), ["tablesOpened", "edits", "query"]);
}

const buttons = () => [...$("grid-head").querySelectorAll("button")];

function onClick({ target }) {
  const button = target.closest("button");
  if (!button) return;
  const { key, column } = button.closest("th").dataset;
  if (button.classList.contains("more")) openColumnMenu(button, key, column);
  else setSort(nextSort(getState().query, key, column));
}

function onKey(event) {
  const all = buttons();
  const place = all.indexOf(event.target);
  const targets = { Home: 0, End: all.length - 1 };
  const wanted = event.key in STEPS ? place + STEPS[event.key] : targets[event.key];
  if (wanted === undefined || !all[wanted]) return;
  event.preventDefault();
  event.stopPropagation();
  all[wanted].focus();
}

function moveTabStop(button) {
  for (const one of buttons()) one.tabIndex = one === button ? 0 : -1;
}

function render() {
  const { table, edits } = getState();
  const focused = $("grid-head").contains(document.activeElement) ? document.activeElement.dataset.button : null;
  const columns = shownColumns(table.columns, edits);
  const leftOver = countLeftOver(table.columns, edits);
  const own = ownColumns(edits);
  const cells = [...own.map(ownHead), ...columns.map(columnHead)];
  if (leftOver) cells.push(element("th", "", `and ${formatCount(leftOver)} more`));
  const tr = element("tr");
  tr.append(...cells);
  $("grid-head").replaceChildren(tr);
  renderWidths([...own, ...columns].map(({ width }) => width).concat(leftOver ? [LAST_WIDTH] : []));
  const restored = buttons().find(({ dataset }) => dataset.button === focused);
  (restored ?? buttons()[0]).tabIndex = 0;
  restored?.focus();
}

function renderWidths(widths) {
  $("frame").style.setProperty("--row-width", `${widths[0]}px`);
  $("grid").style.setProperty("--columns-width", `${widths.reduce((sum, width) => sum + width, 0)}px`);
  $("grid-widths").replaceChildren(...widths.map((width) => {
    const column = element("col");
    column.style.width = `${width}px`;
    return column;
  }));
}

function ownHead({ key, name, title, sort }) {
  const cell = headCell(key, "", title ?? name);
  if (key === "row") cell.classList.add("pinned");
  if (sort) cell.append(sortButton(key, "", name));
  else cell.append(element("span", "head-name", name));
  if (key === "label" || key === "score") addMenuButton(cell, name);
  return cell;
}

function columnHead({ name, isPinned, left }) {
  const cell = headCell("column", name, name);
  if (isPinned) {
    cell.classList.add("pinned");
    cell.style.left = `${left}px`;
  }
  cell.append(sortButton("column", name, name));
  addMenuButton(cell, name);
  return cell;
}

function headCell(key, column, title) {
  const cell = element("th", `head-${key}`);
  cell.scope = "col";
  cell.title = title;
  cell.dataset.key = key;
  cell.dataset.column = column;
  return cell;
}

function headButton(className, text, identity) {
  const button = element("button", className, text);
  button.type = "button";
  button.tabIndex = -1;
  button.dataset.button = identity;
  return button;
}

const sortButton = (key, column, name) => headButton("head-name", name, `sort ${key} ${column}`);

function addMenuButton(cell, name) {
  const { key, column } = cell.dataset;
  const button = headButton("more", "⋮", `menu ${key} ${column}`);
  button.setAttribute("aria-label", `Menu of ${name}`);
  button.setAttribute("aria-haspopup", "menu");
  button.setAttribute("aria-expanded", "false");
  cell.classList.add("with-menu");
  cell.append(button);
}

function renderSorting() {
  const { query } = getState();
  for (const cell of $("grid-head").querySelectorAll("th[data-key]")) {
    const direction = sortDirection(query, cell.dataset.key, cell.dataset.column);
    if (direction) cell.setAttribute("aria-sort", direction);
    else cell.removeAttribute("aria-sort");
  }
}
