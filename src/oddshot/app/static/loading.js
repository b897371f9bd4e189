// Fetches what the panels show of the current ranking, and puts it into the store.
import { attempt } from "./dom.js";
import { get, ofTable } from "./api.js";
import { getState, update } from "./store.js";
import { queryParameters } from "./query.js";

const PAGE_SIZE = 100; // rows
const MAX_PAGES = 60; // kept in the store; the oldest one is dropped first

// Without an explanation: tables with too many columns have none.
const NO_EXPLANATION = { columns: [], rows: [{ added: [], compared: -1, near: [], near_names: [] }] };

// Of requests that overlap only the latest one counts. Each call begins a request and returns a function that says
// whether it is still the latest one, and of the table on display.
function latestOnly() {
  let latest = 0;
  return () => {
    latest += 1;
    const [own, { id }] = [latest, getState()];
    return () => own === latest && id === getState().id;
  };
}

const beginRowCard = latestOnly();
const beginRows = latestOnly();
const beginMap = latestOnly();
const beginAxis = latestOnly();

// Everything that a new ranking changes. The plots wait for the rows, which are read first.
export async function loadRanking() {
  if (!getState().table) return;
  await Promise.all([loadRowCard(), loadRows().then(() => Promise.all([loadMap(), loadAxis()]))]);
}

// The selected row with its explanation. Returns its index in the ranking; null where it has none or a newer request
// was made.
export async function loadRowCard() {
  const { selected: row, explained_rows: explainedRows } = getState();
  const isLatest = beginRowCard();
  const explaining = explainedRows ? get(ofTable(`explain?rows=${row}`)) : NO_EXPLANATION;
  const answers = await attempt(() => Promise.all([get(ofTable(`row/${row}`)), explaining]));
  if (!answers || !isLatest()) return null;
  const [facts, { columns, rows: [{ added, compared: comparedRow, near: nearRows, near_names: nearNames }] }] = answers;
  const near = nearRows.map((one, index) => ({ row: one, name: nearNames[index] }));
  const compared = comparedRow >= 0 ? ((await attempt(() => get(ofTable(`row/${comparedRow}`)))) ?? null) : null;
  if (!isLatest()) return null;
  update({ rowCard: { facts, compared, columns, added, near, explained: explainedRows > 0 } });
  return facts.place;
}

const pageOf = (index) => Math.floor(index / PAGE_SIZE);

function fetchPage(query, page) {
  const parameters = queryParameters(query);
  parameters.set("offset", page * PAGE_SIZE);
  parameters.set("limit", PAGE_SIZE);
  return attempt(() => get(ofTable(`rows?${parameters}`)));
}

// The row at an index of the ranking, undefined where its page is not in the store.
export const rowAt = ({ pages }, index) => pages.get(pageOf(index))?.[index % PAGE_SIZE];

// The index of a row in the ranking, null where its page is not in the store.
export function indexOf({ pages }, row) {
  for (const [page, rows] of pages) {
    const place = rows.findIndex((one) => one.row === row);
    if (place >= 0) return page * PAGE_SIZE + place;
  }
  return null;
}

// The rows in sight of a new ranking or another query; they replace those of the one before once they are here.
export async function loadRows() {
  const { query, firstVisible } = getState();
  const isLatest = beginRows();
  const page = pageOf(firstVisible);
  const answer = await fetchPage(query, page);
  if (!isLatest()) return;
  const rows = answer
    ? { total: answer.total, pages: new Map([[page, answer.rows]]) }
    : { total: getState().rows.total, pages: new Map() };
  update({ rows, rowsOutdated: false, explanations: new Map() });
}

// More rows of the same ranking: the pages that have these indices, as far as they are not in the store.
export async function loadRowsAt(indices) {
  const { rows, rowsOutdated } = getState();
  if (rowsOutdated) return;
  const missing = new Set(indices.filter((index) => !rowAt(rows, index)).map(pageOf));
  await Promise.all([...missing].map(loadPage));
}

async function loadPage(page) {
  const { id, turn, query } = getState();
  const answer = await fetchPage(query, page);
  const now = getState();
  if (!answer || now.rowsOutdated || now.id !== id || now.turn !== turn || now.query !== query) return;
  const pages = new Map(now.rows.pages).set(page, answer.rows);
  if (pages.size > MAX_PAGES) pages.delete(pages.keys().next().value);
  update({ rows: { total: answer.total, pages } });
}

// What each column adds to the scores of these rows, as far as that is not known. The server explains only so many rows
// at a time; the next ones follow when the ranking is rendered with these.
export async function loadExplanations(rows) {
  const { turn, tablesOpened, explained_rows: explainedRows, explanations } = getState();
  const unknown = rows.filter((row) => !explanations.has(row)).slice(0, explainedRows);
  if (!unknown.length) return;
  update({ explanations: new Map([...explanations, ...unknown.map((row) => [row, null])]) });
  const answer = await get(ofTable(`explain?${unknown.map((row) => `rows=${row}`).join("&")}`)).catch(() => null);
  const now = getState();
  if (!answer || now.turn !== turn || now.tablesOpened !== tablesOpened) return;
  const added = answer.rows.map((row) => [row.row, { columns: answer.columns, added: row.added }]);
  update({ explanations: new Map([...now.explanations, ...added]) });
}

async function loadMap() {
  const isLatest = beginMap();
  const map = await attempt(() => get(ofTable("map")));
  if (map && isLatest()) update({ map });
}

// The rows on the projected axis, and the threshold there.
export async function loadAxis() {
  const isLatest = beginAxis();
  const axis = await attempt(() => get(ofTable("axis")));
  if (axis && isLatest()) update({ axis });
}
