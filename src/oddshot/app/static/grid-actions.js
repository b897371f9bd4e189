// What a person can do with the columns and rows of the ranking: sort, filter, search, pin, hide, copy.
import { announce, attemptAction } from "./dom.js";
import { get, ofTable, post } from "./api.js";
import { enqueue, showState } from "./tables.js";
import { getState, update } from "./store.js";
import { EVERY_ROW } from "./query.js";
import { formatCount } from "./format.js";
import { copyText } from "./clipboard.js";
import { loadRows } from "./loading.js";
import { rowName } from "./row-names.js";

// Ask for other rows, or the same ones in another order; the screen reader says how many there are.
async function ask(patch) {
  update({ query: { ...getState().query, ...patch }, firstVisible: 0, rowsOutdated: true });
  await loadRows();
  const { rows, table } = getState();
  announce(`${formatCount(rows.total)} of ${formatCount(table.rows)} rows`);
}

// sort: { by, column, descending }.
export const setSort = (sort) => ask({ column: "", descending: null, ...sort });

export const setSearch = (search) => (search === getState().query.search ? undefined : ask({ search }));

export const removeFilter = (filter) => ask({ filters: getState().query.filters.filter((one) => one !== filter) });

export const setFilters = (filters) => ask({ filters });

export const clearFilters = () => ask({ filters: EVERY_ROW.filters, search: EVERY_ROW.search });

// Copy.

const copy = (path, what) => attemptAction(async () => {
  await copyText((await get(ofTable(path))).text);
  announce(`${what} copied`);
});

export const copyRow = (row) => copy(`row/${row}/tsv`, `Row ${rowName(row)} is`);

export const copyCell = (row, column) =>
  copy(`row/${row}/tsv?${new URLSearchParams({ column })}`, `The cell of ${column} in row ${rowName(row)} is`);

// The selected cell, otherwise the selected row.
export function copySelected() {
  const { selected, selectedColumn } = getState();
  return selectedColumn === null ? copyRow(selected) : copyCell(selected, selectedColumn);
}

// Columns.

// Show or pin a column, or not. Unless the ranking is another one by now, no row has to be loaded.
const changeView = (change) => {
  const path = ofTable("column");
  return enqueue(() => attemptAction(async () => {
    const answer = await post(path, change);
    if (answer.turn === getState().turn) update(answer);
    else await showState(answer);
  }));
};

export const setPinned = (name, pinned) => changeView({ name, pinned, ...(pinned ? { hidden: false } : {}) });

export async function setHidden(name, hidden) {
  await changeView({ name, hidden, ...(hidden ? { pinned: false } : {}) });
  announce(hidden ? `${name} is hidden; the menu “Columns” brings it back` : `${name} is shown`);
}

export const LEFT_OUT = "left out";

// Have the detector use a column as another kind, as recognised (null), or not at all (LEFT_OUT), and say what changed.
export function changeKind(name, kind) {
  const path = ofTable("column");
  const change = kind === LEFT_OUT ? { name, used: false } : { name, used: true, kind };
  return enqueue(async () => {
    const result = await attemptAction(() => post(path, change));
    if (!result) return showState(await get(ofTable("state"))); // checkboxes show what is in force
    const { flags, ...answer } = result;
    const text = `${describeKind(name, kind)}: ${describeFlags(flags)}`;
    announce(text);
    return showState(answer, { columnChange: { version: answer.version, text } });
  });
}

function describeKind(name, kind) {
  if (kind === LEFT_OUT) return `Left out ${name}`;
  return kind === null ? `${name} as recognised` : `${name} as ${kind}`;
}

// flags: how many rows have entered and left the rows `among`, the flagged ones; null if the ranking is the same.
function describeFlags(flags) {
  if (!flags) return "the ranking stays as it is.";
  const { entered, left, among } = flags;
  const rows = (n) => `${formatCount(n)} ${n === 1 ? "row" : "rows"}`;
  if (!entered && !left) return `no row entered or left ${among}.`;
  return `${rows(entered)} entered ${among}, ${rows(left)} left.`;
}
