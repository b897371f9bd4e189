// Names of rows in sentences, lists and announcements: their values in the column that names the rows, otherwise numbers.
import { ofTable, post } from "./api.js";
import { getState, subscribe, update } from "./store.js";
import { attempt } from "./dom.js";
import { formatName } from "./format.js";

const NO_NAMES = new Map();

const knownNames = ({ id, edits, rowNames }) =>
  (rowNames?.id === id && rowNames.column === edits.id_column ? rowNames.names : NO_NAMES);

// The name of a row that was asked for, or of the selected one.
export function rowName(row) {
  const state = getState();
  const facts = state.rowCard?.facts;
  return formatName({ row, name: knownNames(state).get(row) ?? (facts?.row === row ? facts.name : null) });
}

// Ask for the names of these rows, as far as they are not known.
export async function loadNames(rows) {
  const { id, edits: { id_column: column } } = getState();
  const unknown = [...new Set(rows)].filter((row) => !knownNames(getState()).has(row));
  if (!unknown.length) return;
  const answer = column === null ? { names: unknown.map(() => null) } : await attempt(() => post(ofTable("names"), { rows: unknown }));
  const now = getState();
  if (!answer || now.id !== id || now.edits.id_column !== column) return;
  const found = unknown.map((row, index) => [row, answer.names[index]]);
  update({ rowNames: { id, column, names: new Map([...knownNames(now), ...found]) } });
}

// When another column names the rows, those that are mentioned get their new names.
export function setUpRowNames() {
  subscribe(({ id, edits, rowNames }, before) => {
    if (!edits || rowNames?.id !== id || rowNames.column === edits.id_column || edits === before.edits) return;
    queueMicrotask(() => loadNames(rowNames.names.keys())); // a subscriber must not update the state
  }, ["edits"]);
}
