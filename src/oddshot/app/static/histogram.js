// The histogram of scores and its movable threshold.
import { $, element } from "./dom.js";
import { fillCircle, prepareCanvas, strokeVertical } from "./canvas.js";
import { formatCount, formatNumber, formatPercent } from "./format.js";
import { getState, isTableShown, subscribe } from "./store.js";
import { moveThreshold, resetThreshold } from "./actions.js";
import { readPalette } from "./colours.js";

const SLIDER_STEPS = 1000;
const FOOT = 10; // pixels below the bars, for the marks of labelled rows
const MARGIN = 12; // pixels above them

// Expected shares of normal rows above the threshold that the model's calibration cannot tell apart.
const MIN_FALSE_ALARMS = 0.00101;
const MAX_FALSE_ALARMS = 0.499;

export function setUpHistogram() {
  const canvas = $("histogram");
  const positionAt = (event) => Math.min(1, Math.max(0, event.offsetX / canvas.clientWidth));
  canvas.addEventListener("pointerdown", (event) => {
    if (!getState().threshold) return;
    canvas.setPointerCapture(event.pointerId);
    moveThreshold(positionAt(event));
  });
  canvas.addEventListener("pointermove", (event) => {
    if (canvas.hasPointerCapture(event.pointerId)) moveThreshold(positionAt(event));
  });
  $("threshold").addEventListener("input", (event) => moveThreshold(Number(event.target.value) / SLIDER_STEPS));
  $("threshold-reset").addEventListener("click", resetThreshold);
  subscribe(drawHistogram, ["ranking", "labels", "threshold", "draggedPosition", "map", "choosingTable"]);
  subscribe(renderThreshold, ["ranking", "threshold", "draggedPosition"]);
}

const shownPosition = ({ threshold, draggedPosition }) => draggedPosition ?? threshold.position;

export function drawHistogram() {
  if (!isTableShown()) return;
  const { ranking, threshold } = getState();
  const surface = prepareCanvas($("histogram"));
  const palette = readPalette();
  drawBars(surface, palette, ranking.histogram);
  drawLabels(surface, palette);
  if (!threshold) return;
  const x = Math.round(shownPosition(getState()) * surface.width);
  strokeVertical(surface.context, x, 4, surface.height, palette.named("mark"), { dash: [5, 4] });
  fillCircle(surface.context, x, 6, 5, palette.named("mark"));
}

// Heights are square roots of the counts, so that the few rows with high scores stay visible.
function drawBars({ context, width, height }, palette, counts) {
  const tallest = Math.sqrt(Math.max(...counts, 1));
  const step = width / counts.length;
  counts.forEach((n, bin) => {
    if (!n) return;
    const barHeight = Math.max(2, ((height - FOOT - MARGIN) * Math.sqrt(n)) / tallest);
    context.fillStyle = palette.forPosition((bin + 0.5) / counts.length);
    context.beginPath();
    context.roundRect(bin * step + 0.5, height - FOOT - barHeight, step - 1, barHeight, 2);
    context.fill();
  });
  context.fillStyle = palette.named("line");
  context.fillRect(0, height - FOOT, width, 1);
}

// Labelled rows are triangles under the bars. The map has all of them, with their positions on the axis of scores.
function drawLabels({ context, width, height }, palette) {
  const { labels, map } = getState();
  const positions = new Map(map?.rows.map((row, index) => [row, map.position[index]]));
  for (const [row, label] of Object.entries(labels.rows)) {
    const x = (positions.get(Number(row)) ?? 0) * width;
    context.fillStyle = palette.forLabel(label);
    context.beginPath();
    context.moveTo(x, height - 8);
    context.lineTo(x - 5, height);
    context.lineTo(x + 5, height);
    context.fill();
  }
}

// The slider and the sentence below it.
function renderThreshold(state) {
  const { ranking, threshold } = state;
  if (!ranking) return;
  const slider = $("threshold");
  slider.disabled = !threshold;
  $("threshold-reset").hidden = !threshold?.moved;
  const scored = formatCount(ranking.scored);
  if (!threshold) {
    $("threshold-facts").textContent = "There is no threshold before the detector starts.";
    $("histogram").setAttribute("aria-label", `Histogram of ${scored} scores, without a threshold`);
    return;
  }
  const [above, value, share] = [formatCount(threshold.above), formatNumber(threshold.value), formatPercent(threshold.share)];
  const sentence = `${above} of ${scored} rows above ${value} (${share})`;
  slider.value = Math.round(SLIDER_STEPS * shownPosition(state));
  slider.setAttribute("aria-valuetext", sentence);
  $("histogram").setAttribute("aria-label", `Histogram of the scores: ${sentence}`);
  $("threshold-facts").replaceChildren(strong(above), ` of ${scored} rows lie above `, strong(value), ` (${share}). `);
  $("threshold-facts").append(...falseAlarms(threshold.false_alarms));
}

const strong = (text) => element("strong", "", text);

function falseAlarms(share) {
  if (share === null) return ["The model has no calibration, so the rate of false alarms is not known."];
  const rate = share <= MIN_FALSE_ALARMS ? "at most 0.1 %" : share >= MAX_FALSE_ALARMS ? "50 % or more" : formatPercent(share);
  return ["Expected false alarms: ", strong(rate), " of normal rows."];
}
