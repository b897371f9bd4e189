// The open tables: which one is on display, opening, closing, and what happens to them elsewhere.
import { announce, attempt, attemptAction, showError } from "./dom.js";
import { get, ofTable, post, remove, uploadTable } from "./api.js";
import { describeColumns, formatCount } from "./format.js";
import { getState, NEW_TAB, update } from "./store.js";
import { dropUnfitFilters } from "./query.js";
import { loadRanking } from "./loading.js";

const SCORING_POLL_MS = 400; // while rows are scored in the background
const POLL_MS = 1500; // otherwise: another page may change the same table
const POLL_LIMIT_MS = 5000; // a poll that hangs must not keep the labels waiting that are queued behind it

const remembered = new Map(); // id of a table that is not on display -> what the person was doing there

let isServerGone = false; // when it was asked last
let queue = Promise.resolve(); // requests that change a table are sent one after the other

export function enqueue(task) {
  const done = queue.then(task);
  queue = done.catch(() => {}); // a task that fails does not stop those after it
  return done;
}

// Show a new ranking of the table on display. If a newer answer has overtaken this one, or the server was started again
// and counts from 0, the server's current state is shown.
export async function showRanking(answer, patch = {}) {
  const { id } = getState();
  if (answer.id !== id) return; // the person has gone to another tab
  const outdated = { ...patch, rowsOutdated: true };
  if (!update({ ...answer, ...outdated })) {
    const now = await get(ofTable("state"));
    if (getState().id === id) update({ ...now, ...outdated }, { evenIfOlder: true });
  }
  await loadRanking();
}

// Show a new state of the table on display, which may have other columns.
export async function showState(answer, patch = {}) {
  const { table, tablesOpened } = getState();
  const isSame = JSON.stringify(answer.table) === JSON.stringify(table);
  await showRanking(answer, isSame ? patch : { ...withFittingFilters(answer, patch), tablesOpened: tablesOpened + 1 });
}

// A patch for another state of the table on display, without filters that do not fit its columns any more, and with a
// sentence about them.
function withFittingFilters(answer, patch) {
  const { id, query: before, table } = getState();
  const { query, text } = dropUnfitFilters(before, table.columns, answer.table.columns);
  if (!text || answer.id !== id) return patch;
  announce(text);
  const sentences = [patch.columnChange?.text, text].filter(Boolean);
  return { ...patch, query, columnChange: { version: answer.version, text: sentences.join(" ") } };
}

// Show a table as the person left it. answer: its whole state.
export async function showTable(answer) {
  const { id, query, firstVisible, selected, table, tablesOpened } = getState();
  if (id !== null) remembered.set(id, { query, firstVisible, selected, columns: table.columns });
  const { columns, ...left } = remembered.get(answer.id) ?? {};
  const fresh = {
    ...NEW_TAB,
    selected: answer.suggestion ?? 0,
    ...left,
    ...(columns ? { query: dropUnfitFilters(left.query, columns, answer.table.columns).query } : {}),
    tablesOpened: tablesOpened + 1,
    choosingTable: false,
    rowsOutdated: true,
    rowCard: null,
    map: null,
    axis: null,
    draggedPosition: null,
  };
  update({ ...answer, ...fresh }, { evenIfOlder: true });
  history.replaceState(null, "", `?table=${answer.id}`); // a reload comes back to it
  await loadRanking();
}

function showStart() {
  update({ id: null, table: null, stage: "", tablesOpened: getState().tablesOpened + 1 }, { evenIfOlder: true });
  history.replaceState(null, "", "?");
}

async function open(request) {
  const answer = await attemptAction(request);
  if (!answer) return null;
  await showTable(answer);
  await refreshTables();
  return answer;
}

export const openExample = () => open(() => post("example"));

export async function openFile(file) {
  const onProgress = (share) =>
    update({ upload: share < 1 ? { text: `uploading ${file.name}`, share } : { text: `reading ${file.name}`, share: null } });
  onProgress(0);
  const answer = await open(() => uploadTable(file, onProgress).finally(() => update({ upload: null })));
  if (!answer) return false;
  announce(`${file.name} is open: ${formatCount(answer.table.rows)} rows, ${describeColumns(answer.table)}`);
  return true;
}

// Show another one of the open tables.
export async function switchTo(id) {
  if (id === getState().id) update({ choosingTable: false });
  else await attemptAction(async () => showTable(await get(ofTable("state", id))));
}

// Close a table; its labels are saved. Of the others the one to the right is shown, or the last one.
export const closeTable = (id) => attemptAction(async () => {
  const { tables: before } = getState();
  const place = before.findIndex((table) => table.id === id);
  const { tables } = await remove(`tables/${id}`);
  remembered.delete(id);
  update({ tables });
  if (id === getState().id) await showOneOf(tables, place);
  announce(`${before[place]?.name ?? "The table"} is closed; its labels are kept`);
});

async function showOneOf(tables, place) {
  const next = tables[Math.min(place, tables.length - 1)];
  if (next) await showTable(await get(ofTable("state", next.id)));
  else showStart();
}

export const chooseTable = () => update({ choosingTable: true });

// What the server has open when the page is loaded: the table named in the address, otherwise the last one.
export const resume = () => attempt(async () => {
  const { tables } = await get("tables");
  update({ tables });
  const asked = new URLSearchParams(location.search).get("table");
  const place = tables.findIndex(({ id }) => id === asked);
  await showOneOf(tables, place >= 0 ? place : tables.length);
});

async function refreshTables(limit = undefined) {
  const { tables } = await get("tables", limit);
  if (JSON.stringify(tables) !== JSON.stringify(getState().tables)) update({ tables });
  return tables;
}

// Ask regularly for the state of the open tables: rows are scored in the background, and other pages change them too. This
// waits for the changes in the queue, so that no ranking is fetched that they make outdated.
export async function keepPolling() {
  const isScoring = Boolean(getState().stage);
  await new Promise((resolve) => { setTimeout(resolve, isScoring ? SCORING_POLL_MS : POLL_MS); });
  if (!document.hidden) await enqueue(poll);
  keepPolling();
}

async function poll() {
  const { id } = getState();
  const tables = await refreshTables(POLL_LIMIT_MS).catch((error) => error);
  if (tables instanceof Error) {
    isServerGone = true;
    showError(tables);
    return;
  }
  if (isServerGone) showError(null);
  isServerGone = false;
  if (id === getState().id && id !== null) await attempt(() => follow(tables, id));
}

// Show what has become of the table on display.
async function follow(tables, id) {
  const own = tables.find((table) => table.id === id);
  const now = getState();
  if (!own) {
    await showOneOf(tables, tables.length);
    showError(new Error(`${now.table.name} was closed elsewhere, or the app was started again; open it again and all that you did is there`));
  } else if (["turn", "version", "unsaved"].some((name) => own[name] !== now[name])) {
    await showState(await get(ofTable("state")));
  } else if (own.stage || now.stage) {
    update({ stage: own.stage, done: own.done });
  }
}
