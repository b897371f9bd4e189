// Numbers, cells and labels as text.

const integers = new Intl.NumberFormat("en");

export const formatCount = (n) => integers.format(n);

// Rows are counted from 0 in the requests, from 1 on the page.
export const formatRow = (row) => formatCount(row + 1);

// The name of a row: its value in the column that names the rows, otherwise its number.
export const formatName = ({ row, name }) => name ?? formatRow(row);

export function formatNumber(x) {
  if (x === null || x === undefined) return "–";
  if (x === 0 || (Math.abs(x) >= 0.001 && Math.abs(x) < 1e6)) return String(Number(x.toPrecision(4)));
  return x.toExponential(2);
}

export function formatPercent(x) {
  if (x === null || x === undefined) return "–";
  return `${(100 * x).toFixed(x < 0.0995 ? 1 : 0)}\u00a0%`; // no line break before the sign
}

// An interval of shares.
export const formatInterval = (low, high) => `${(100 * low).toFixed(0)} to ${formatPercent(high)}`;

// A cell of the table; a missing value is empty.
export function formatCell(cell) {
  if (cell === null) return "";
  return typeof cell === "number" && !Number.isInteger(cell) ? formatNumber(cell) : String(cell);
}

export const labelName = (label) => (label === 1 ? "anomaly" : label === 0 ? "normal" : "");

const KINDS = { number: "numbers", category: "categories", boolean: "booleans", date: "dates", text: "texts", interval: "intervals", "not used": "not used" };

// How many columns of each kind a table has, and how many missing values.
export function describeColumns(table) {
  const counts = new Map();
  for (const { kind } of table.columns) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  const kinds = [...counts].map(([kind, n]) => `${formatCount(n)} ${n === 1 ? kind : (KINDS[kind] ?? kind)}`);
  const missing = table.columns.reduce((sum, column) => sum + column.missing, 0);
  return `${kinds.join(", ")}; ${missing ? `${formatCount(missing)} missing value${missing === 1 ? "" : "s"}` : "no missing values"}`;
}
