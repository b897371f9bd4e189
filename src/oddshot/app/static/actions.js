// What a person can do with the table on display: each action sends its request, puts the answer into the store, and has
// loading.js fetch what follows from it. tables.js has the actions that open, show and close tables.
import { announce, attempt, attemptAction } from "./dom.js";
import { download, get, ofTable, post, put } from "./api.js";
import { enqueue, showRanking, showState } from "./tables.js";
import { getState, update } from "./store.js";
import { labelName } from "./format.js";
import { loadAxis, loadRowCard } from "./loading.js";
import { nextRow } from "./queue-order.js";
import { loadNames, rowName } from "./row-names.js";
import { ownField } from "./lazy-panels.js";
import { scoreAt } from "./score-axis.js";

const SAME_MOVEMENT_MS = 1000; // movements of the threshold that follow each other so soon are undone together

let nextThreshold = null; // { value }: the latest one that has not been sent
let sendingThreshold = false;
let lastMoved = -Infinity; // when the threshold was moved last

// Choose the column whose values name the rows; null for row numbers.
export function nameRowsBy(name) {
  const path = ofTable("id-column");
  return enqueue(async () => {
    const answer = await attemptAction(() => post(path, { name }));
    await showState(answer ?? (await get(ofTable("state"))));
    if (answer) announce(name === null ? "Rows are named by their numbers" : `Rows are named by ${name}`);
  });
}

// Write a note on a row; an empty one removes it.
export function noteRow(row, note) {
  const path = ofTable("note");
  return enqueue(() => attemptAction(async () => {
    await showRanking(await post(path, { row, note }));
    announce(note ? "The note is saved" : "The note is removed");
  }));
}

// Select a row. Returns its index in the ranking, or null.
export async function selectRow(row) {
  update({ selected: row });
  const index = await loadRowCard();
  const { labels, selected } = getState();
  const label = labelName(labels.rows[row]);
  if (row === selected) announce(`Row ${rowName(row)} selected${label ? `, labelled ${label}` : ""}`);
  return index;
}

// Select a row, and in it the cell of a column; null for the whole row.
export function selectCell(row, column) {
  update({ selectedColumn: column });
  if (row !== getState().selected) selectRow(row);
  else if (column !== null) announce(`${column}, row ${rowName(row)}`);
}

export function selectSuggestion() {
  const { suggestion } = getState();
  if (suggestion !== null) selectRow(suggestion);
}

// Label a row "normal" or "anomaly"; null removes its label. After the suggested row the next suggestion is selected.
export function labelRow(row, name) {
  const path = ofTable("label"); // not that of a tab which is chosen while the request waits
  const wasSuggested = row === getState().suggestion;
  return enqueue(() => attemptAction(async () => {
    const answer = await post(path, { row, label: name });
    const { suggestion } = answer;
    const state = { ...getState(), ...answer, selected: row };
    const queued = nextRow(state); // where the person works through a list of rows
    const followed = wasSuggested && !ownField(state, "queue") && suggestion !== null ? suggestion : row;
    await showRanking(answer, { selected: queued ?? followed });
    await loadNames([row, queued, suggestion].filter((one) => one !== null));
    const next = queued !== null ? `Next: row ${rowName(queued)}.` : suggestion === null ? "" : `Next suggestion: row ${rowName(suggestion)}.`;
    announce(`Row ${rowName(row)} ${name ? `labelled ${name}` : "unlabelled"}. ${next}`);
  }));
}

export const labelSelected = (name) => labelRow(getState().selected, name);

export const undo = () => goThroughHistory("undo", "The last change was taken back");

export const redo = () => goThroughHistory("redo", "The change was made again");

// The server refuses if this page does not show the latest change yet.
function goThroughHistory(direction, text) {
  const { id } = getState();
  return enqueue(() => attemptAction(async () => {
    if (id !== getState().id) return;
    const { touched, ...answer } = await post(ofTable(direction), { version: getState().version });
    await showState(answer, touched.length === 1 ? { selected: touched[0] } : {});
    announce(text);
  }));
}

// Take labels from a column. labels: what each of its values means, "normal", "anomaly" or null.
export function takeLabels(name, labels) {
  const path = ofTable("label-column");
  return enqueue(() => attemptAction(async () => {
    const answer = await post(path, { name, labels });
    await showState(answer);
    announce(`The labels of column ${name} were taken: ${answer.labels.normal} normal, ${answer.labels.anomaly} anomalies`);
  }));
}

export const loadLabelsFile = (file) => attemptAction(async () => {
  const { unknown, ...answer } = await put(ofTable("labels"), file);
  await showRanking(answer);
  if (unknown) throw new Error(`The labels are loaded, but ${unknown} of their rows are not in the table`);
  announce("The labels are loaded");
});

export const exportFile = (name) => attemptAction(async () => {
  await download(name);
  announce(`${name} is saved`);
});

// Move the threshold to a position on the axis of scores, from 0 to 1.
export function moveThreshold(position) {
  update({ draggedPosition: position });
  return setThreshold(scoreAt(getState().ranking.axis, position));
}

export const resetThreshold = () => setThreshold(null);

// One request at a time; of the values that come meanwhile the latest one is sent.
async function setThreshold(value) {
  const now = performance.now();
  nextThreshold = { value, continues: now - lastMoved < SAME_MOVEMENT_MS };
  lastMoved = now;
  if (sendingThreshold) return;
  sendingThreshold = true;
  while (nextThreshold) {
    const body = nextThreshold;
    nextThreshold = null;
    await enqueue(() => sendThreshold(body));
  }
  sendingThreshold = false;
}

async function sendThreshold(body) {
  const { id } = getState();
  const answer = await attempt(() => post(ofTable("threshold"), body));
  if (id !== getState().id) return;
  update({ ...answer, ...(nextThreshold ? {} : { draggedPosition: null }) });
  if (answer) loadAxis();
}
