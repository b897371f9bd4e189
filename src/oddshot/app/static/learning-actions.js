// What a person can do with what labels teach, and what is fetched for it.
import { $, announce, attempt, attemptAction } from "./dom.js";
import { get, ofTable, post, put, remove } from "./api.js";
import { getState, update } from "./store.js";
import { loadField, ownField } from "./lazy-panels.js";
import { currentRow, nextRow } from "./queue-order.js";
import { goToRow } from "./row-links.js";
import { loadNames, rowName } from "./row-names.js";

const POLL_MS = 300;
const MAX_BINS = 4000; // of the timeline, that the server computes

// What is fetched, with the names of the rows that it mentions.
async function withNames(fetchAnswer, rowsOf) {
  const answer = await fetchAnswer();
  await loadNames(rowsOf(answer));
  return answer;
}

const movedRows = ({ change }) => (change ? [...change.rose, ...change.fell] : []).map(({ row }) => row);

export const loadChange = () =>
  loadField("change", () => attempt(() => withNames(() => get(ofTable("change")), movedRows)), update);

export const loadCertainty = () => loadField("certainty", () => attempt(() => get(ofTable("certainty"))), update);

// The labelling queue.

export const startQueue = () => attemptAction(async () => {
  await loadField("queue", async () => ({ ...(await withNames(() => get(ofTable("queue")), ({ rows }) => rows)), skipped: [] }), update);
  const queue = ownField(getState(), "queue");
  if (!queue?.rows.length) {
    update({ queue: null });
    announce("Every row has a label");
    return;
  }
  await goToRow(queue.rows[0]);
  announce(`${queue.rows.length} rows to label; n normal, a anomaly, u skip, Escape leaves`);
});

export function leaveQueue() {
  if (!getState().queue) return;
  update({ queue: null });
  announce("The list of rows to label is closed");
}

// Go on without labelling the row.
export function skipRow() {
  const queue = ownField(getState(), "queue");
  const row = currentRow(getState());
  update({ queue: { ...queue, skipped: [...queue.skipped, row] } });
  const next = nextRow(getState());
  announce(`Row ${rowName(row)} skipped`);
  if (next !== null) goToRow(next);
}

// Simple methods.

export const compareSimpleMethods = () => attemptAction(async () => {
  await loadField("simpleMethods", () => post(ofTable("simple-methods")), update);
  await followSimpleMethods();
});

export async function followSimpleMethods() {
  const { id } = getState();
  for (;;) {
    const job = ownField(getState(), "simpleMethods");
    if (!job || job.done === undefined || job.methods || job.error || job.outdated) break;
    await new Promise((resolve) => { setTimeout(resolve, POLL_MS); });
    if (getState().id !== id) return;
    await loadField("simpleMethods", () => attempt(() => get(ofTable("simple-methods"))), update);
  }
  const job = ownField(getState(), "simpleMethods");
  if (job?.verdict) announce(job.verdict);
}

export async function loadSimpleMethods() {
  await loadField("simpleMethods", () => attempt(async () => (await get(ofTable("simple-methods"))) ?? {}), update);
}

// The second detector.

const NO_SECOND = { name: null, rows: [] };

const comparedRows = ({ rows }) => rows.map(({ row }) => row);

export const loadSecond = () =>
  loadField("second", () => attempt(() => withNames(async () => (await get(ofTable("second"))) ?? NO_SECOND, comparedRows)), update);

export const addSecond = (file) => attemptAction(async () => {
  await loadField("second", () => withNames(() => put(ofTable(`second?name=${encodeURIComponent(file.name)}`), file), comparedRows), update);
  announce(`${file.name} is compared with the detector of this page`);
});

export const removeSecond = () => attemptAction(async () => {
  await remove(ofTable("second"));
  await loadSecond();
});

// Time and groups. choice: a column, and for the time { start, end } or null for all of it.

// What was chosen before in this table, unless its columns have changed since.
function lastChoice(field) {
  const own = ownField(getState(), field);
  return own && own.tablesOpened === getState().tablesOpened ? own.choice : undefined;
}

const timedRows = ({ row = [], beginning }) => (beginning?.run ? [...row, beginning.run.row] : row);

export function loadTimeline(choice = {}) {
  const { tablesOpened } = getState();
  const { column, span } = { ...lastChoice("timeline"), ...choice };
  const settings = new URLSearchParams({ bins: Math.min($("timeline").clientWidth || 600, MAX_BINS) });
  if (column) settings.set("column", column);
  if (span) for (const end of ["start", "end"]) settings.set(end, span[end]);
  return loadField("timeline", () => attempt(async () => ({
    ...(await withNames(() => get(ofTable(`time?${settings}`)), timedRows)), choice: { column, span }, range: null, tablesOpened,
  })), update);
}

export const selectRange = (range) => update({ timeline: { ...getState().timeline, range } });

const highestRows = ({ groups }) => groups.map((group) => group.highest_row);

export function loadGroups(choice = lastChoice("groups")) {
  const { tablesOpened } = getState();
  const settings = choice ? `?${new URLSearchParams({ column: choice })}` : "";
  return loadField("groups", () => attempt(async () => ({
    ...(await withNames(() => get(ofTable(`groups${settings}`)), highestRows)), choice, tablesOpened,
  })), update);
}
