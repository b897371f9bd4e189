// The columns of the ranking: those that every table has, then the pinned ones and the others that are not hidden.

const MAX_COLUMNS = 60; // of the table; the row's card has all of them
const WIDTHS = { number: 84, boolean: 72, date: 158, category: 106, text: 160 }; // pixels, at least
const OTHER_WIDTH = 100;
const MAX_NAME_WIDTH = 128;

// Wide enough for its values, and for a name that is not too long.
const widthOf = ({ name, kind }) => Math.max(WIDTHS[kind] ?? OTHER_WIDTH, Math.min(MAX_NAME_WIDTH, 38 + 7 * name.length));

const ROW_WIDTH = 58;
const ROW_NAME_WIDTH = 112;

// sort: what a click on the header sorts by. Widths are in pixels.
export const ownColumns = ({ id_column: idColumn }) => [
  { key: "row", name: "Row", width: idColumn === null ? ROW_WIDTH : ROW_NAME_WIDTH, sort: "row" },
  { key: "label", name: "Label", width: 92 },
  { key: "score", name: "Score", width: 90, sort: "score" },
  { key: "probability", name: "Prob.", title: "Probability", width: 60 },
  { key: "why", name: "Why", width: 76 },
];

export const N_OWN_COLUMNS = 5;

// index: in the table's columns and in the cells of a row. left: where a pinned column stays when the others scroll away.
export function shownColumns(columns, edits) {
  const { pinned, hidden } = edits;
  const indexed = columns.map((column, index) => ({ ...column, index, width: widthOf(column) }));
  const byName = new Map(indexed.map((column) => [column.name, column]));
  const first = pinned.filter((name) => byName.has(name)).map((name) => ({ ...byName.get(name), isPinned: true }));
  const others = indexed.filter(({ name }) => !pinned.includes(name) && !hidden.includes(name));
  const shown = [...first, ...others].slice(0, MAX_COLUMNS);
  let left = ownColumns(edits)[0].width; // the row number stays, too
  for (const column of shown) {
    if (!column.isPinned) break;
    column.left = left;
    left += column.width;
  }
  return shown;
}

// How many columns there is no room for although they are not hidden.
export const countLeftOver = (columns, { hidden }) =>
  Math.max(0, columns.filter(({ name }) => !hidden.includes(name)).length - MAX_COLUMNS);
