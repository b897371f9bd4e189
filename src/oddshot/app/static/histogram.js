// The histogram of scores and its movable threshold.
import { $, element } from "./dom.js";
import { fillCircle, prepareCanvas, strokeVertical } from "./canvas.js";
import { formatCount } from "./format.js";
import { getState, isTableShown, subscribe } from "./store.js";
import { moveThreshold, resetThreshold } from "./actions.js";
import { readPalette } from "./colours.js";

const SLIDER_STEPS = 1000;
const FOOT = 10; // pixels below the bars, for the marks of labelled rows
const MARGIN = 12; // pixels above them

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
  if (!threshold) {
    $("threshold-facts").textContent = "There is no threshold before the detector starts.";
    $("histogram").setAttribute("aria-label", `Histogram of ${formatCount(ranking.scored)} scores, without a threshold`);
    return;
  }
  const [rowsAbove, falseAlarms] = threshold.facts.map((text) => text.replaceAll(" %", "\u00a0%")); // no line break before the sign
  slider.value = Math.round(SLIDER_STEPS * shownPosition(state));
  slider.setAttribute("aria-valuetext", rowsAbove);
  $("histogram").setAttribute("aria-label", `Histogram of the scores. ${rowsAbove}`);
  $("threshold-facts").replaceChildren(element("strong", "", rowsAbove), ` ${falseAlarms}`);
}
