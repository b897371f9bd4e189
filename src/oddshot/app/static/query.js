// What the person asks of the rows: their order, filters and a text to search for, as `RowQuery` in row_query.py has it.
import { formatCount } from "./format.js";

export const EVERY_ROW = { by: "score", column: "", descending: null, search: "", filters: [] };

// The query without filters by columns that hold something else now, and a sentence about those, "" if there are none.
export function dropUnfitFilters(query, columnsBefore, columns) {
  const kindOf = (all, wanted) => all.find(({ name }) => name === wanted)?.kind;
  const fits = ({ column }) => column === undefined || kindOf(columnsBefore, column) === kindOf(columns, column);
  const dropped = query.filters.filter((filter) => !fits(filter));
  if (!dropped.length) return { query, text: "" };
  const names = [...new Set(dropped.map(({ column }) => column))].join(", ");
  return { query: { ...query, filters: query.filters.filter(fits) }, text: `The filter by ${names} is removed, because the column is another one now.` };
}

// Whether the query leaves rows out.
export const isFiltered = ({ search, filters }) => Boolean(search) || filters.length > 0;

// The query as parameters of a request.
export function queryParameters({ by, column, descending, search, filters }) {
  const parameters = new URLSearchParams({ by });
  if (by === "column") parameters.set("column", column);
  if (descending !== null) parameters.set("descending", descending);
  if (search) parameters.set("search", search);
  if (filters.length) parameters.set("filters", JSON.stringify(filters));
  return parameters;
}

// The direction in which the rows are sorted by "score", "row" or a column: "ascending", "descending" or null.
export function sortDirection(query, by, column = "") {
  if (query.by !== by || (by === "column" && query.column !== column)) return null;
  return (query.descending ?? by === "score") ? "descending" : "ascending";
}

// The other direction if the rows are sorted by this already, otherwise the one that people mostly want.
export function nextSort(query, by, column = "") {
  const direction = sortDirection(query, by, column);
  return { by, column, descending: direction ? direction === "ascending" : by === "score" };
}

const MAX_NAMED = 3; // values of a filter that a chip names

function listed(values, nameOfNull) {
  const names = values.slice(0, MAX_NAMED).map((value) => value ?? nameOfNull);
  const more = values.length - names.length;
  return names.join(", ") + (more > 0 ? ` and ${formatCount(more)} more` : "");
}

function interval(low, high) {
  if (low === null || low === undefined) return `up to ${high}`;
  return high === null || high === undefined ? `from ${low}` : `${low} to ${high}`;
}

// A filter in a few words.
export function describeFilter(filter) {
  const { kind, column } = filter;
  if (kind === "values") return `${column}: ${listed(filter.values, "missing")}`;
  if (kind === "group") return `${column}: ${filter.name}`;
  if (kind === "range") return `${column}: ${interval(filter.low, filter.high)}`;
  if (kind === "dates") return `${column}: ${interval(filter.first, filter.last).replaceAll("T", " ")}`;
  if (kind === "text") return `${column} contains “${filter.text}”`;
  if (kind === "label") return `label: ${listed(filter.labels, "none")}`;
  if (kind === "noted") return filter.noted ? "with a note" : "without a note";
  return filter.flagged ? "flagged" : "not flagged";
}
