// Scores over time: the highest score of each bin, and when a run of flagged rows begins.
import { $, element } from "./dom.js";
import { fillCircle, prepareCanvas, strokeVertical } from "./canvas.js";
import { formatCount, formatNumber } from "./format.js";
import { getState, isTableShown, subscribe } from "./store.js";
import { goToRow, rowLink } from "./row-links.js";
import { rowName } from "./row-names.js";
import { loadTimeline, selectRange } from "./learning-actions.js";
import { ownField, setUpLazyPanel } from "./lazy-panels.js";
import { readPalette } from "./colours.js";

const TOP = 14; // pixels above the highest score, for the marks of flagged rows
const FOOT = 18; // pixels below the scores, for the first and last time
const MIN_DRAG = 5; // pixels; less is a click
const STEPS = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity };

let dragStart = null; // x of the pointer when it was pressed
let shiftStart = null; // index of the bin where a selection by keys began

export function setUpTimeline() {
  const canvas = $("timeline");
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    dragStart = event.offsetX;
  });
  canvas.addEventListener("pointermove", (event) => {
    if (dragStart !== null && Math.abs(event.offsetX - dragStart) >= MIN_DRAG) selectPixels(dragStart, event.offsetX);
  });
  canvas.addEventListener("pointerup", (event) => {
    if (dragStart !== null && Math.abs(event.offsetX - dragStart) < MIN_DRAG) selectNear(event.offsetX, event.offsetY);
    dragStart = null;
  });
  canvas.addEventListener("keydown", onKey);
  $("time-column").addEventListener("change", (event) => loadTimeline({ column: event.target.value, span: null }));
  $("time-zoom").addEventListener("click", () => {
    const { range } = getState().timeline;
    if (range) loadTimeline({ span: range });
  });
  $("time-all").addEventListener("click", () => loadTimeline({ span: null }));
  setUpLazyPanel($("timeline-box"), loadTimeline);
  subscribe(render, ["timeline", "id", "rowNames"]); // before it is drawn: a hidden canvas has no size
  subscribe(drawTimeline, ["timeline", "id", "selected", "choosingTable", "rowNames"]);
  return drawTimeline;
}

const shown = () => {
  const timeline = ownField(getState(), "timeline");
  return timeline?.columns.length ? timeline : null;
};

const timeAt = ({ start, end }, share) => start + Math.min(1, Math.max(0, share)) * (end - start);
const shareOf = ({ start, end }, time) => (time - start) / (end - start || 1);

function formatTime(time, kind) {
  if (kind === "number") return formatNumber(time);
  const date = new Date(1000 * time);
  if (Number.isNaN(date.getTime())) return formatNumber(time);
  return date.toISOString().slice(0, 19).replace("T", " ").replace(/:00$/, "").replace(/ 00:00$/, "");
}

// Selecting.

function selectPixels(from, to) {
  const timeline = shown();
  const { clientWidth: width } = $("timeline");
  if (timeline) selectRange({ start: timeAt(timeline, Math.min(from, to) / width), end: timeAt(timeline, Math.max(from, to) / width) });
}

// The row of the bin that is nearest to a point.
function selectNear(x, y) {
  const timeline = shown();
  if (!timeline?.x.length) return;
  const { clientWidth: width, clientHeight: height } = $("timeline");
  const distance = (index) => (timeline.x[index] * width - x) ** 2 + 0.05 * (pixelOf(timeline.position[index], height) - y) ** 2;
  let nearest = 0;
  timeline.x.forEach((_, index) => { if (distance(index) < distance(nearest)) nearest = index; });
  if (timeline.range) selectRange(null);
  goToRow(timeline.row[nearest]);
}

function selectedIndex({ row, time, start, end }) {
  const index = row.indexOf(getState().selected);
  return index >= 0 || !row.length ? index : time.findIndex((at) => at >= start && at <= end);
}

// Arrows go from bin to bin, with Shift they select a range, Escape takes it back.
function onKey(event) {
  const timeline = shown();
  if (!timeline?.x.length || event.altKey || event.ctrlKey || event.metaKey) return;
  if (event.key === "Escape" && timeline.range) {
    event.stopPropagation();
    selectRange(null);
    return;
  }
  const step = STEPS[event.key];
  if (step === undefined) return;
  event.preventDefault();
  event.stopPropagation();
  const from = selectedIndex(timeline);
  const to = Math.min(Math.max(from + step, 0), timeline.x.length - 1);
  if (event.shiftKey) {
    shiftStart = timeline.range && shiftStart !== null ? shiftStart : from;
    const ends = [timeline.time[shiftStart], timeline.time[to]].sort((a, b) => a - b);
    selectRange({ start: ends[0], end: ends[1] });
  } else if (timeline.range) selectRange(null);
  goToRow(timeline.row[to]);
}

// Rendering.

const pixelOf = (position, height) => height - FOOT - position * (height - FOOT - TOP);

function render() {
  const timeline = shown();
  $("timeline-card").hidden = !timeline;
  if (!timeline) return;
  $("time-column").replaceChildren(...timeline.columns.map((name) => {
    const option = element("option", "", name);
    option.value = name;
    option.selected = name === timeline.column;
    return option;
  }));
  $("time-zoom").hidden = !timeline.range;
  $("time-all").hidden = !timeline.zoomed;
  $("timeline-beginning").replaceChildren(...beginningText(timeline));
  $("timeline-range").replaceChildren(...rangeText(timeline));
}

function beginningText({ beginning, kind }) {
  if (!beginning) return ["Nothing is flagged before the detector starts."];
  const { flagged, run } = beginning;
  if (flagged === 0) return ["No row is flagged."];
  if (!run) {
    return [`${formatCount(flagged)} ${flagged === 1 ? "row is" : "rows are"} flagged, nowhere more densely than chance explains: no beginning of a fault shows.`];
  }
  const more = run.after ? ` ${formatCount(run.after)} such ${run.after === 1 ? "run follows" : "runs follow"}.` : "";
  return [
    `The first run of flagged rows begins at ${formatTime(run.begin, kind)} (`, rowLink(run.row),
    `): ${formatCount(run.flagged)} of ${formatCount(run.rows)} rows until ${formatTime(run.end, kind)}.${more} Flagged rows outside of such runs may be chance.`,
  ];
}

function rangeText(timeline) {
  const { range, x, time, position, flagged, row, kind } = timeline;
  if (!range) return [];
  const inside = x.map((_, index) => index).filter((index) => time[index] >= range.start && time[index] <= range.end);
  const span = `${formatTime(range.start, kind)} to ${formatTime(range.end, kind)}: `;
  if (!inside.length) return [`${span}no rows.`];
  const n = inside.reduce((sum, index) => sum + flagged[index], 0);
  const highest = inside.reduce((best, index) => (position[index] > position[best] ? index : best), inside[0]);
  return [`${span}${formatCount(n)} flagged, highest `, rowLink(row[highest]), "."];
}

export function drawTimeline() {
  const timeline = shown();
  if (!timeline || !isTableShown()) return;
  const surface = prepareCanvas($("timeline"));
  const palette = readPalette();
  drawFrame(surface, palette, timeline);
  drawScores(surface, palette, timeline);
  describeSelected(timeline);
}

function drawFrame({ context, width, height }, palette, timeline) {
  const { range, threshold, kind, start, end } = timeline;
  if (range) {
    const [left, right] = [range.start, range.end].map((time) => shareOf(timeline, time) * width);
    context.fillStyle = palette.named("chosen");
    context.fillRect(left, 0, Math.max(2, right - left), height - FOOT);
  }
  context.fillStyle = palette.named("line");
  context.fillRect(0, height - FOOT, width, 1);
  context.fillStyle = palette.named("soft");
  context.font = "12px system-ui, sans-serif";
  context.textAlign = "left";
  context.fillText(formatTime(start, kind), 2, height - 4);
  context.textAlign = "right";
  context.fillText(formatTime(end, kind), width - 2, height - 4);
  if (threshold === null) return;
  context.strokeStyle = palette.named("mark");
  context.setLineDash([5, 4]);
  context.beginPath();
  context.moveTo(0, pixelOf(threshold, height));
  context.lineTo(width, pixelOf(threshold, height));
  context.stroke();
  context.setLineDash([]);
}

function drawScores({ context, width, height }, palette, { x, position, flagged, row }) {
  const lineWidth = Math.min(4, Math.max(1, width / Math.max(x.length, 1) - 1));
  const selected = row.indexOf(getState().selected);
  if (selected >= 0) strokeVertical(context, x[selected] * width, 0, height - FOOT, palette.named("mark"), { lineWidth: lineWidth + 4 });
  x.forEach((at, index) => {
    strokeVertical(context, at * width, height - FOOT, pixelOf(position[index], height), palette.forPosition(position[index]), { lineWidth });
  });
  x.forEach((at, index) => {
    if (flagged[index]) fillCircle(context, at * width, 6, 3, palette.named("high"));
  });
}

// A slider for screen readers: its value is the selected bin.
function describeSelected(timeline) {
  const canvas = $("timeline");
  const index = selectedIndex(timeline);
  canvas.setAttribute("aria-valuemin", 0);
  canvas.setAttribute("aria-valuemax", Math.max(0, timeline.x.length - 1));
  canvas.setAttribute("aria-valuenow", Math.max(0, index));
  const text = index < 0 ? "no rows" : `${formatTime(timeline.time[index], timeline.kind)}, highest row ${rowName(timeline.row[index])}, ${formatCount(timeline.flagged[index])} flagged`;
  canvas.setAttribute("aria-valuetext", text);
}
