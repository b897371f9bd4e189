// What a person can do: each action sends its request, puts the answer into the store, and has loading.js fetch what
// follows from it.
import { announce, attempt, attemptAction } from "./dom.js";
import { download, get, post, put, uploadTable } from "./api.js";
import { describeColumns, formatCount, labelName } from "./format.js";
import { getState, subscribe, update } from "./store.js";
import { loadAxis, loadRanking, loadRowCard, loadRows } from "./loading.js";
import { scoreAt } from "./score-axis.js";

const POLLING_MS = 400;

let queue = Promise.resolve(); // requests that change labels are sent one after the other
let pollingTimer = null;
let nextThreshold = null; // { value }: the latest one that has not been sent
let sendingThreshold = false;

// The task must not fail: those after it would not run.
function enqueue(task) {
  queue = queue.then(task);
  return queue;
}

// Show a new ranking of the open table. If a newer answer has overtaken this one, or the server was started again and
// counts from 0, the server's current state is shown.
async function showRanking(answer, patch = {}) {
  const outdated = { ...patch, rowsOutdated: true };
  if (!update({ ...answer, ...outdated })) update({ ...(await get("state")), ...outdated }, { evenIfOlder: true });
  await loadRanking();
}

// Show another table, or the same one with other columns.
async function showTable(answer) {
  const fresh = {
    tablesOpened: getState().tablesOpened + 1,
    choosingTable: false,
    order: "score",
    firstVisible: 0,
    selected: answer.suggestion ?? 0,
    rowsOutdated: Boolean(answer.table),
    rowCard: null,
    map: null,
    axis: null,
    draggedPosition: null,
  };
  update({ ...answer, ...fresh }, { evenIfOlder: true });
  await loadRanking();
}

// What the server has open when the page is loaded.
export const resume = () => attempt(async () => showTable(await get("state")));

export const openExample = () => attemptAction(async () => showTable(await post("example")));

export async function openFile(file) {
  const onProgress = (share) =>
    update({ upload: share < 1 ? { text: `uploading ${file.name}`, share } : { text: `reading ${file.name}`, share: null } });
  onProgress(0);
  const answer = await attemptAction(() => uploadTable(file, onProgress));
  update({ upload: null });
  if (!answer) return false;
  await showTable(answer);
  announce(`${file.name} is open: ${formatCount(answer.table.rows)} rows, ${describeColumns(answer.table)}`);
  return true;
}

export const chooseTable = () => update({ choosingTable: true });

export const backToTable = () => update({ choosingTable: false });

// Have the detector use a column or leave it out.
export async function setColumnUsed(name, used) {
  const others = getState().table.left_out.filter((one) => one !== name);
  const answer = await attemptAction(() => post("columns", { left_out: used ? others : [...others, name] }));
  await showTable(answer ?? (await get("state")));
  if (answer) announce("The columns have changed");
}

// Select a row. Returns its index in the ranking, or null.
export function selectRow(row) {
  update({ selected: row });
  const label = labelName(getState().labels.rows[row]);
  announce(`Row ${row + 1} selected${label ? `, labelled ${label}` : ""}`);
  return loadRowCard();
}

export function selectSuggestion() {
  const { suggestion } = getState();
  if (suggestion !== null) selectRow(suggestion);
}

// Label a row "normal" or "anomaly"; null removes its label. After the suggested row the next suggestion is selected.
export function labelRow(row, name) {
  const wasSuggested = row === getState().suggestion;
  return enqueue(() => attemptAction(async () => {
    const answer = await post("label", { row, label: name });
    const { suggestion } = answer;
    await showRanking(answer, { selected: wasSuggested && suggestion !== null ? suggestion : row });
    const next = suggestion === null ? "" : `Next suggestion: row ${suggestion + 1}.`;
    announce(`Row ${row + 1} ${name ? `labelled ${name}` : "unlabelled"}. ${next}`);
  }));
}

export const labelSelected = (name) => labelRow(getState().selected, name);

export function undo() {
  return enqueue(() => attemptAction(async () => {
    const { touched, ...answer } = await post("undo");
    await showRanking(answer, touched.length === 1 ? { selected: touched[0] } : {});
    announce("The last label was taken back");
  }));
}

export const loadLabelsFile = (file) => attemptAction(async () => {
  await showRanking(await put("labels", file));
  announce("The labels are loaded");
});

export const exportFile = (name) => attemptAction(async () => {
  await download(name);
  announce(`${name} is saved`);
});

export function setOrder(order) {
  update({ order, firstVisible: 0, rowsOutdated: true });
  return loadRows();
}

// Move the threshold to a position on the axis of scores, from 0 to 1.
export function moveThreshold(position) {
  update({ draggedPosition: position });
  return setThreshold(scoreAt(getState().ranking.axis, position));
}

export const resetThreshold = () => setThreshold(null);

// One request at a time; of the values that come meanwhile the latest one is sent.
async function setThreshold(value) {
  nextThreshold = { value };
  if (sendingThreshold) return;
  sendingThreshold = true;
  while (nextThreshold) {
    const body = nextThreshold;
    nextThreshold = null;
    await sendThreshold(body);
  }
  sendingThreshold = false;
}

async function sendThreshold(body) {
  const { turn } = getState();
  const answer = await attempt(async () => {
    const own = await post("threshold", body);
    return turn === getState().turn ? own : get("state"); // another ranking came meanwhile, maybe with another threshold
  });
  const settled = nextThreshold ? {} : { draggedPosition: null };
  update(answer ? { threshold: answer.threshold, ...settled } : settled);
  if (answer) loadAxis();
}

// Rows of a large table are scored in the background: ask regularly how many are. This waits for the labels in the queue,
// so that no ranking is fetched that they make outdated.
export function setUpPolling() {
  subscribe(({ stage }) => {
    if (!stage || pollingTimer !== null) return;
    pollingTimer = setTimeout(() => enqueue(poll), POLLING_MS);
  });
}

async function poll() {
  pollingTimer = null;
  const progress = await get("progress").catch(() => null);
  if (!progress) return;
  if (progress.stage && progress.turn === getState().turn) update(progress);
  else await attempt(async () => showRanking(await get("state")));
}
