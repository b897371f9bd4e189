// The histogram of scores and its movable threshold.
import { $, attempt, count, number, percent } from "./dom.js";
import { palette, prepare } from "./colours.js";
import { post } from "./api.js";

let state = null;
let onMoved = () => {};
let waiting = null;
let busy = false;

const axis = () => state.ranking.axis;

export const scoreAt = (position) => axis().scale * Math.sinh(axis().low + position * (axis().high - axis().low));

export const positionOf = (score) =>
  Math.min(1, Math.max(0, (Math.asinh(score / axis().scale) - axis().low) / (axis().high - axis().low)));

export function setUpHistogram(moved) {
  onMoved = moved;
  const canvas = $("histogram");
  const at = (event) => Math.min(1, Math.max(0, event.offsetX / canvas.clientWidth));
  canvas.addEventListener("pointerdown", (event) => {
    if (!state.threshold) return;
    canvas.setPointerCapture(event.pointerId);
    move(at(event));
  });
  canvas.addEventListener("pointermove", (event) => canvas.hasPointerCapture(event.pointerId) && move(at(event)));
  $("threshold").addEventListener("input", (event) => move(Number(event.target.value) / 1000));
  $("threshold-reset").addEventListener("click", () => set(null));
}

export function showHistogram(next) {
  state = next;
  draw();
  tell();
}

export const redrawHistogram = () => state && draw();

function move(position) {
  state.threshold = { ...state.threshold, position, moved: true };
  draw();
  waiting = scoreAt(position);
  if (!busy) settle();
}

// One request at a time; the latest position wins.
async function settle() {
  busy = true;
  while (waiting !== null) {
    const value = waiting;
    waiting = null;
    await set(value);
  }
  busy = false;
}

async function set(value) {
  const next = await attempt(() => post("threshold", { value }));
  if (!next) return;
  state.threshold = next.threshold;
  if (waiting === null) draw();
  tell();
  onMoved();
}

function draw() {
  const { context, width, height } = prepare($("histogram"));
  const { of, ramp } = palette();
  const counts = state.ranking.histogram;
  const top = Math.sqrt(Math.max(...counts, 1));
  const step = width / counts.length;
  counts.forEach((n, k) => {
    if (!n) return;
    const tall = Math.max(2, ((height - 22) * Math.sqrt(n)) / top); // square roots: the few high ones stay visible
    context.fillStyle = ramp((k + 0.5) / counts.length);
    context.beginPath();
    context.roundRect(k * step + 0.5, height - 10 - tall, step - 1, tall, 2);
    context.fill();
  });
  context.fillStyle = of("line");
  context.fillRect(0, height - 10, width, 1);
  for (const [row, label] of Object.entries(state.labels.rows)) mark(context, height, positionFor(row) * width, label);
  if (state.threshold) {
    const x = Math.round(state.threshold.position * width);
    context.strokeStyle = of("mark");
    context.setLineDash([5, 4]);
    context.beginPath();
    context.moveTo(x, 4);
    context.lineTo(x, height);
    context.stroke();
    context.setLineDash([]);
    context.fillStyle = of("mark");
    context.beginPath();
    context.arc(x, 6, 5, 0, 7);
    context.fill();
  }
}

const positionFor = (row) => (state.labels.positions ?? {})[row] ?? 0;

// Labelled rows: triangles under the bars.
function mark(context, height, x, label) {
  context.fillStyle = palette().label(label);
  context.beginPath();
  context.moveTo(x, height - 8);
  context.lineTo(x - 5, height);
  context.lineTo(x + 5, height);
  context.fill();
}

function tell() {
  const { threshold, ranking } = state;
  const slider = $("threshold");
  slider.disabled = !threshold;
  $("threshold-reset").hidden = !threshold?.moved;
  const facts = $("threshold-facts");
  facts.replaceChildren();
  if (!threshold) {
    facts.textContent = "There is no threshold before the detector starts.";
    $("histogram").setAttribute("aria-label", `Histogram of ${count(ranking.scored)} scores, without a threshold`);
    return;
  }
  slider.value = Math.round(1000 * threshold.position);
  const sentence = `${count(threshold.above)} of ${count(ranking.scored)} rows above ${number(threshold.value)} (${percent(threshold.share)})`;
  slider.setAttribute("aria-valuetext", sentence);
  $("histogram").setAttribute("aria-label", `Histogram of the scores: ${sentence}`);
  facts.append(strong(count(threshold.above)), ` of ${count(ranking.scored)} rows lie above `, strong(number(threshold.value)), ` (${percent(threshold.share)}). `);
  if (threshold.false_alarms === null) facts.append("The model has no calibration, so the rate of false alarms is not known.");
  else facts.append("Expected false alarms: ", strong(rate(threshold.false_alarms)), " of normal rows.");
}

function rate(share) {
  if (share <= 0.00101) return "at most 0.1 %";
  return share >= 0.499 ? "50 % or more" : percent(share);
}

function strong(text) {
  const node = document.createElement("strong");
  node.textContent = text;
  return node;
}
