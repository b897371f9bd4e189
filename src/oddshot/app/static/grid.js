// The ranking: a table of any length of which only the rows in sight exist.
import { $, attempt, count, element, labelName, number, percent, shown } from "./dom.js";
import { get } from "./api.js";
import { palette } from "./colours.js";
import { positionOf } from "./histogram.js";
import { reasonBars } from "./reasons.js";

const ROW = 34; // pixels
const PAGE = 100; // rows fetched at once
const TALLEST = 8_000_000; // pixels: browsers draw nothing beyond some 30 million
const COLUMNS = 24; // columns of the table that are shown; the row's card has all

let state = null;
let by = "score";
let total = 0;
let pages = new Map();
let before = new Map(); // pages of the ranking before, shown until the new ones are here
let reasons = new Map();
let asked = new Set();
let first = 0;
let selected = null;
let handlers = {};
let timer = null;

export function setUpGrid(given) {
  handlers = given;
  $("scroll").addEventListener("scroll", () => requestAnimationFrame(onScroll));
  for (const input of document.querySelectorAll("input[name=by]")) {
    input.addEventListener("change", () => {
      by = input.value;
      $("scroll").scrollTop = 0;
      restart(false);
    });
  }
  $("grid-body").addEventListener("click", (event) => {
    const line = event.target.closest("tr");
    if (!line?.dataset.row) return;
    const row = Number(line.dataset.row);
    const choice = event.target.closest("button")?.dataset.label;
    if (choice) handlers.label(row, choice);
    else handlers.select(row);
  });
  new ResizeObserver(() => state && draw()).observe($("scroll"));
}

// A new ranking, or another table.
export async function showGrid(next, isNew) {
  state = next;
  if (isNew) {
    by = "score";
    document.querySelector("input[name=by][value=score]").checked = true;
    $("scroll").scrollTop = 0;
    head();
  }
  await restart(!isNew);
}

export function selectInGrid(row) {
  selected = row;
  draw();
}

// The row so many places from the selected one, or null.
export async function neighbour(step) {
  const index = indexOf(selected);
  const target = Math.min(Math.max(index === null ? first : index + step, 0), total - 1);
  const page = await fetchPage(Math.floor(target / PAGE));
  reveal(target);
  return page?.rows[target % PAGE]?.row ?? null;
}

// Scroll so far that a place of the ranking is in sight.
export function revealPlace(place) {
  if (by !== "score" || place === null) return;
  reveal(place);
  draw();
}

async function restart(keep) {
  before = keep && by === "score" ? pages : new Map();
  pages = new Map();
  reasons = new Map();
  asked = new Set();
  $("grid").classList.add("stale");
  await fetchPage(Math.floor(first / PAGE));
  before = new Map();
  $("grid").classList.remove("stale");
  size();
  draw();
}

async function fetchPage(number_) {
  if (pages.has(number_)) return pages.get(number_);
  const mine = pages;
  const answer = await attempt(() => get(`rows?by=${by}&offset=${number_ * PAGE}&limit=${PAGE}`));
  if (!answer || mine !== pages) return undefined;
  pages.set(number_, answer);
  if (pages.size > 60) pages.delete(pages.keys().next().value);
  total = answer.total;
  return answer;
}

function indexOf(row) {
  for (const [number_, page] of pages) {
    const k = page.rows.findIndex((one) => one.row === row);
    if (k >= 0) return number_ * PAGE + k;
  }
  return null;
}

const room = () => Math.max(3, Math.floor(($("scroll").clientHeight - ROW - 2) / ROW));

function size() {
  $("tall").style.height = `${Math.min((total + 1) * ROW, TALLEST)}px`;
  $("grid").setAttribute("aria-rowcount", total + 1);
}

// Tables that are too tall for a browser scroll faster: a pixel is then more than a pixel's share of rows.
function onScroll() {
  const box = $("scroll");
  const most = box.scrollHeight - box.clientHeight;
  const last = Math.max(0, total - room());
  first = most <= 0 ? 0 : Math.round((box.scrollTop / most) * last);
  draw();
}

function reveal(index) {
  if (index >= first && index < first + room()) return;
  first = Math.max(0, Math.min(index < first ? index : index - room() + 1, total - room()));
  const box = $("scroll");
  const last = Math.max(1, total - room());
  box.scrollTop = (first / last) * (box.scrollHeight - box.clientHeight);
}

const rowAt = (index) => (pages.get(Math.floor(index / PAGE)) ?? before.get(Math.floor(index / PAGE)))?.rows[index % PAGE];

function head() {
  const line = element("tr");
  for (const name of ["Row", "Label", "Score", "Probability", "Why"]) heading(line, name);
  const names = state.table.columns.map((column) => column.name);
  for (const name of names.slice(0, COLUMNS)) heading(line, name);
  if (names.length > COLUMNS) heading(line, `and ${count(names.length - COLUMNS)} more`);
  $("grid-head").replaceChildren(line);
}

function heading(line, name) {
  const cell = element("th", "", name);
  cell.scope = "col";
  cell.title = name;
  line.append(cell);
}

function draw() {
  if (!state) return;
  const body = $("grid-body");
  const lines = [];
  const missing = new Set();
  for (let index = first; index < Math.min(first + room(), total); index += 1) {
    const row = rowAt(index);
    if (!row) missing.add(Math.floor(index / PAGE));
    lines.push(row ? line(row, index) : blank(index));
  }
  body.replaceChildren(...lines);
  $("grid").classList.toggle("without-probability", !rowAt(first) || rowAt(first).probability === null);
  const active = lines.find((one) => one.getAttribute("aria-selected") === "true");
  if (active) $("grid").setAttribute("aria-activedescendant", active.id);
  else $("grid").removeAttribute("aria-activedescendant");
  for (const page of missing) fetchPage(page).then((found) => found && draw());
  clearTimeout(timer);
  timer = setTimeout(askWhy, 120);
}

function blank(index) {
  const tr = element("tr");
  tr.setAttribute("aria-rowindex", index + 2);
  const cell = element("td", "soft", "…");
  cell.colSpan = 5;
  tr.append(cell);
  return tr;
}

function line(row, index) {
  const tr = element("tr");
  tr.id = `row-${row.row}`;
  tr.dataset.row = row.row;
  tr.setAttribute("aria-rowindex", index + 2);
  tr.setAttribute("aria-selected", row.row === selected);
  const cut = state.threshold?.above;
  if (by === "score" && cut && index === cut - 1) tr.className = "cut";
  tr.append(element("td", "number", count(row.row + 1)), labelCell(row), scoreCell(row), element("td", "number", percent(row.probability)));
  const why = element("td");
  if (reasons.has(row.row)) why.append(reasonBars(reasons.get(row.row)));
  tr.append(why);
  for (const cell of row.cells.slice(0, COLUMNS)) {
    tr.append(cell === null ? element("td", "gap", "–") : element("td", typeof cell === "number" ? "number" : "", shown(cell)));
  }
  return tr;
}

function labelCell(row) {
  const cell = element("td");
  if (row.label !== null) {
    cell.append(element("span", `tag ${labelName(row.label)}`, labelName(row.label)));
    return cell;
  }
  const quick = element("span", "quick");
  for (const [name, letter] of [["normal", "N"], ["anomaly", "A"]]) {
    const button = element("button", letter.toLowerCase(), letter);
    button.type = "button";
    button.tabIndex = -1;
    button.dataset.label = name;
    button.title = name;
    button.setAttribute("aria-label", `Label row ${row.row + 1} ${name}`);
    quick.append(button);
  }
  cell.append(quick);
  if (row.row === state.suggestion) cell.append(" ", element("span", "tag next", "next"));
  return cell;
}

function scoreCell(row) {
  const cell = element("td", "number", number(row.score));
  if (row.score === null) return cell;
  const position = positionOf(row.score);
  const meter = element("span", "meter");
  const fill = element("i");
  fill.style.width = `${Math.max(4, 100 * position)}%`;
  fill.style.background = palette().ramp(position);
  meter.append(fill);
  cell.append(meter);
  return cell;
}

// The reasons of the rows in sight, once they have stayed in sight for a moment.
async function askWhy() {
  const wanted = [];
  for (let index = first; index < Math.min(first + room(), total); index += 1) {
    const row = rowAt(index);
    if (row && row.score !== null && !reasons.has(row.row) && !asked.has(row.row)) wanted.push(row.row);
  }
  const some = wanted.slice(0, state.explained_rows);
  if (!some.length) return;
  const mine = reasons;
  some.forEach((row) => asked.add(row));
  const answer = await get(`explain?${some.map((row) => `rows=${row}`).join("&")}`).catch(() => null);
  if (!answer || mine !== reasons) return;
  for (const row of answer.rows) reasons.set(row.row, { columns: answer.columns, ...row });
  draw();
}
