// The page: keeps the state that the server last told, and brings every part to it.
import { $, act, attempt, count, labelName, say } from "./dom.js";
import { download, get, post, put, upload } from "./api.js";
import { redrawHistogram, setUpHistogram, showHistogram } from "./histogram.js";
import { makeAxis, makeMap } from "./dots.js";
import { neighbour, revealPlace, selectInGrid, setUpGrid, showGrid } from "./grid.js";
import { showCard } from "./card.js";
import { facts, showColumns } from "./columns.js";

let state = null;
let selected = null;
let working = Promise.resolve(); // labels are sent one after the other
let polling = null;
const map = makeMap(find);
const axis = makeAxis(find);

async function show(next, isNew = false) {
  state = { ...state, ...next };
  const open = Boolean(state.table);
  $("start").hidden = open;
  for (const id of ["work", "opened", "actions"]) $(id).hidden = !open;
  progress();
  if (!open) return;
  if (isNew) {
    selected = null;
    showColumns(state.table, leaveOut);
    document.title = `${state.table.name} – oddshot`;
    $("table-name").textContent = state.table.name;
  }
  if (selected === null) selected = state.suggestion ?? 0;
  tellFacts();
  showHistogram(state);
  const ranked = showGrid(state, isNew).then(() => selectInGrid(selected));
  await Promise.all([showCard(selected, state), ranked.then(plots)]);
}

function tellFacts() {
  const { normal, anomaly, can_undo: canUndo } = state.labels;
  const auc = state.auc === null || state.auc === undefined ? "" : ` · AUC ${state.auc.toFixed(3)} (the example knows the truth)`;
  $("table-facts").textContent = `${count(state.table.rows)} rows · ${normal} normal, ${anomaly} ${anomaly === 1 ? "anomaly" : "anomalies"} labelled${auc}`;
  $("undo").disabled = !canUndo;
  $("notice").textContent = state.notice;
  $("notice").hidden = !state.notice;
}

async function plots() {
  const found = await attempt(() => Promise.all([get("map"), get("axis")]));
  if (!found) return;
  const [places, line] = found;
  state.labels.positions = Object.fromEntries(places.rows.map((row, k) => [row, places.position[k]]));
  redrawHistogram();
  map.show(places, state.labels.rows, selected);
  $("map").setAttribute("aria-label", `Map of ${count(places.rows.length)} rows coloured by score; labelled rows have rings. The ranking lists the same rows.`);
  const has = line.rows.length > 0;
  $("axis").hidden = !has;
  $("axis-note").textContent = has
    ? "The labels give one direction; the farther a row lies from the centre c, the more anomalous."
    : state.adapted ? "This model's method has no such axis." : "There is no axis before the detector starts.";
  axis.show(has ? line : null, state.labels.rows, selected);
  $("axis").setAttribute("aria-label", `${count(line.rows.length)} rows on the projected axis, with the centre in the middle. The ranking lists the same rows.`);
}

function select(row) {
  selected = row;
  selectInGrid(row);
  map.select(row);
  axis.select(row);
  const label = labelName(state.labels.rows[row]);
  say(`Row ${row + 1} selected${label ? `, labelled ${label}` : ""}`);
  return showCard(row, state);
}

// A row chosen on a plot: also show it in the ranking.
async function find(row) {
  revealPlace(await select(row));
}

function label(row, name) {
  const wasSuggested = row === state.suggestion;
  working = working.then(() => act(async () => {
    const next = await post("label", { row, label: name });
    if (wasSuggested && next.suggestion !== null) selected = next.suggestion;
    else selected = row;
    await show(next);
    say(`Row ${row + 1} ${name ? `labelled ${name}` : "unlabelled"}. ${next.suggestion === null ? "" : `Next suggestion: row ${next.suggestion + 1}.`}`);
  }));
  return working;
}

function undo() {
  working = working.then(() => act(async () => {
    const next = await post("undo");
    if (next.touched.length === 1) selected = next.touched[0];
    await show(next);
    say("The last label was taken back");
  }));
}

async function leaveOut(columns) {
  const next = await act(() => post("columns", { left_out: columns }));
  await show(next ?? (await get("state")), true);
  if (next) say("The columns have changed");
}

async function open(file) {
  const text = (share) => bar(`uploading ${file.name}`, share);
  text(0);
  const next = await act(() => upload(file, (share) => (share < 1 ? text(share) : bar(`reading ${file.name}`, null))));
  bar("", null);
  if (!next) return;
  await show(next, true);
  say(`${file.name} is open: ${count(next.table.rows)} rows, ${facts(next.table)}`);
  $("main").focus({ preventScroll: true });
}

function bar(text, share) {
  $("progress").hidden = !text;
  $("progress-text").textContent = share === null ? text : `${text}, ${Math.round(100 * share)} %`;
  if (share === null) $("progress-bar").removeAttribute("value");
  else $("progress-bar").value = share;
}

// Follow what the server does in the background; when it is through, show the new ranking.
function progress() {
  clearTimeout(polling);
  const scoring = state.stage === "scoring";
  bar(state.stage ? (scoring ? `scoring all ${count(state.table?.rows ?? 0)} rows; the ranking shows those scored first` : state.stage) : "", state.stage ? state.done : null);
  if (!state.stage) return;
  polling = setTimeout(() => {
    working = working.then(follow); // after the labels on their way, so that no older ranking is shown over a newer one
  }, 400);
}

async function follow() {
  const now = await get("progress").catch(() => null);
  if (!now) return;
  if (now.turn !== state.turn || !now.stage) {
    await attempt(async () => show(await get("state")));
  } else {
    state = { ...state, ...now };
    progress();
  }
}

function onKey(event) {
  if (!state?.table || $("work").hidden || event.altKey) return;
  const target = event.target;
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z") {
    event.preventDefault();
    undo();
    return;
  }
  if (event.ctrlKey || event.metaKey) return;
  const inRange = target.matches?.("input, select, textarea, summary");
  const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 };
  if (moves[event.key] && !inRange && !target.closest?.(".why, .scroll-x")) {
    event.preventDefault();
    neighbour(moves[event.key]).then((row) => row !== null && select(row));
    return;
  }
  const action = { n: () => label(selected, "normal"), a: () => label(selected, "anomaly"), u: () => label(selected, null), s: () => state.suggestion !== null && select(state.suggestion) }[event.key.toLowerCase()];
  if (action && !target.matches?.("textarea, input[type=text]")) {
    event.preventDefault();
    action();
  }
}

function setUp() {
  setUpHistogram(async () => {
    selectInGrid(selected);
    const line = await get("axis").catch(() => null);
    if (line?.rows.length) axis.show(line, state.labels.rows, selected);
  });
  setUpGrid({ select, label });
  $("label-normal").addEventListener("click", () => label(selected, "normal"));
  $("label-anomaly").addEventListener("click", () => label(selected, "anomaly"));
  $("label-none").addEventListener("click", () => label(selected, null));
  $("to-suggestion").addEventListener("click", () => select(state.suggestion));
  $("undo").addEventListener("click", undo);
  $("example").addEventListener("click", () => act(async () => show(await post("example"), true)));
  $("table-file").addEventListener("change", (event) => {
    if (event.target.files[0]) open(event.target.files[0]);
    event.target.value = "";
  });
  $("labels-file").addEventListener("change", (event) => {
    const [file] = event.target.files;
    $("labels-menu").open = false;
    if (file) act(async () => { await show(await put("labels", file)); say("The labels are loaded"); });
    event.target.value = "";
  });
  for (const button of document.querySelectorAll("[data-export]")) {
    button.addEventListener("click", () => {
      button.closest("details").open = false;
      act(async () => { await download(button.dataset.export); say(`${button.dataset.export} is saved`); });
    });
  }
  $("new-table").addEventListener("click", () => {
    for (const id of ["work", "actions", "opened"]) $(id).hidden = true;
    $("start").hidden = $("back").hidden = false;
    $("table-file").focus();
  });
  $("back").addEventListener("click", () => show(state));
  setUpDropping();
  document.addEventListener("keydown", onKey);
  document.addEventListener("click", (event) => {
    for (const menu of document.querySelectorAll(".menu[open]")) if (!menu.contains(event.target)) menu.open = false;
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") for (const menu of document.querySelectorAll(".menu[open]")) menu.open = false;
  });
  const redraw = () => { redrawHistogram(); map.draw(); axis.draw(); if (state?.table) selectInGrid(selected); };
  window.addEventListener("resize", redraw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
}

function setUpDropping() {
  const drop = $("drop");
  document.addEventListener("dragover", (event) => { event.preventDefault(); drop.classList.add("over"); });
  document.addEventListener("dragleave", (event) => event.relatedTarget || drop.classList.remove("over"));
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    const [file] = event.dataTransfer.files;
    if (file) open(file);
  });
}

setUp();
attempt(async () => show(await get("state"), true));
