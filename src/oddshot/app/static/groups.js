// Rows by group: share of flagged rows, highest and median score, and a small histogram for each.
import { $, element } from "./dom.js";
import { formatCount, formatNumber, formatPercent } from "./format.js";
import { getState, subscribe } from "./store.js";
import { ownField, setUpLazyPanel } from "./lazy-panels.js";
import { loadGroups } from "./learning-actions.js";
import { rowLink } from "./row-links.js";
import { rowName } from "./row-names.js";
import { setFilters } from "./grid-actions.js";

const SVG = "http://www.w3.org/2000/svg";
const [WIDTH, HEIGHT] = [112, 22]; // pixels of a histogram

export function setUpGroups() {
  $("group-column").addEventListener("change", (event) => event.target.value && loadGroups(event.target.value));
  setUpLazyPanel($("groups-box"), () => loadGroups());
  subscribe(render, ["groups", "id", "rowNames"]);
}

function render(state) {
  const found = ownField(state, "groups");
  $("groups-card").hidden = !found?.columns.length;
  if (!found?.columns.length) return;
  const options = found.columns.map((name) => option(name, name, found.column));
  $("group-column").replaceChildren(...(found.column === null ? [option("", "choose a column", "")] : []), ...options);
  $("groups-table").hidden = !found.groups.length;
  $("groups-rows").replaceChildren(...found.groups.map((group) => groupLine(group, found.column)));
}

function option(value, text, chosen) {
  const node = element("option", "", text);
  node.value = value;
  node.selected = value === chosen;
  return node;
}

function groupLine({ name, rows, flagged, highest, highest_row: row, median, histogram, flagged_bins: flaggedBins }, column) {
  const tr = element("tr");
  const head = element("th");
  head.scope = "row";
  const link = element("button", "link", name);
  link.type = "button";
  link.title = "Show its rows in the ranking";
  link.addEventListener("click", () => showGroup(column, name));
  head.append(link);
  const share = flagged === null ? "–" : `${formatCount(flagged)} (${formatPercent(flagged / rows)})`;
  const bars = element("td");
  bars.append(histogramBars(histogram, flaggedBins));
  tr.append(head, bars, element("td", "number", formatCount(rows)), element("td", "number", share));
  const score = element("td", "number");
  score.append(`${formatNumber(highest)} (`, rowLink(row, rowName(row)), ")");
  tr.append(score, element("td", "number", formatNumber(median)));
  return tr;
}

// Show the rows of a group alone; other filters hold as well.
function showGroup(column, name) {
  const others = getState().query.filters.filter((filter) => filter.column !== column);
  setFilters([...others, { kind: "group", column, name }]);
  $("grid").scrollIntoView({ block: "nearest" });
}

// Heights are square roots of the shares, as in the histogram of all scores; all groups have the same axis of scores.
// Bars with flagged rows have the colour of high scores.
function histogramBars(counts, flaggedBins) {
  const svg = document.createElementNS(SVG, "svg");
  const largest = Math.sqrt(Math.max(...counts));
  const step = WIDTH / counts.length;
  for (const [name, value] of Object.entries({ class: "group-bars", width: WIDTH, height: HEIGHT, role: "img" })) svg.setAttribute(name, value);
  const filled = counts.filter((n) => n > 0).length;
  svg.setAttribute("aria-label", `histogram of scores: ${flaggedBins.length} of ${filled} bars hold flagged rows`);
  counts.forEach((n, bin) => {
    const height = n ? Math.max(1.5, (HEIGHT * Math.sqrt(n)) / largest) : 0;
    const bar = document.createElementNS(SVG, "rect");
    for (const [name, value] of Object.entries({ x: bin * step, y: HEIGHT - height, width: step - 1, height })) bar.setAttribute(name, value);
    bar.setAttribute("class", flaggedBins.includes(bin) ? "high" : "low");
    svg.append(bar);
  });
  return svg;
}
