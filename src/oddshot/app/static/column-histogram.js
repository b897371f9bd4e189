// The histogram of a column, in a dialog: all rows, the labelled ones in their colours, and the selected row.
import { $, attemptAction, element } from "./dom.js";
import { formatCount } from "./format.js";
import { get, ofTable } from "./api.js";
import { prepareCanvas } from "./canvas.js";
import { getState } from "./store.js";
import { readPalette } from "./colours.js";
import { rowName } from "./row-names.js";

const FOOT = 44; // pixels below the bars, for the marks of labelled rows and the names
const MIN_NAME_WIDTH = 56; // pixels of a bar that has its name below it; otherwise only the first and last one have
const MAX_SHOWN_NAME = 30; // characters

let shown = null; // { name, row, histogram } of the open dialog

export function setUpColumnHistogram() {
  const dialog = $("histogram-dialog");
  $("histogram-close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => { shown = null; });
}

export const fetchHistogram = (name) =>
  get(ofTable(`histogram?${new URLSearchParams({ column: name, row: getState().selected })}`));

export async function showColumnHistogram(name) {
  const row = getState().selected;
  const histogram = await attemptAction(() => fetchHistogram(name));
  if (!histogram) return;
  shown = { name, row, histogram };
  $("column-title").textContent = name;
  $("column-facts").textContent = describe(shown);
  $("column-values").replaceChildren(...histogram.bars.map((_, bar) => line(histogram, bar)));
  $("histogram-dialog").showModal();
  drawColumnHistogram();
}

function describe({ row, histogram: { bars, counts, missing, row_bar: rowBar } }) {
  const all = counts.reduce((sum, n) => sum + n, 0);
  const most = counts.indexOf(Math.max(...counts));
  const parts = [`${formatCount(all)} rows with a value${missing ? `, ${formatCount(missing)} without` : ""}.`];
  if (bars.length) parts.push(`The highest bar, ${formatCount(counts[most])} rows, is at ${shorten(bars[most])}.`);
  parts.push(`Row ${rowName(row)} ${rowBar === null ? "has no value" : `lies at ${shorten(bars[rowBar])}`}.`);
  return parts.join(" ");
}

const shorten = (text) => (text.length > MAX_SHOWN_NAME ? `${text.slice(0, MAX_SHOWN_NAME - 1)}…` : text);

function line({ bars, counts, normal, anomaly, row_bar: rowBar }, bar) {
  const tr = element("tr");
  const head = element("th", "", bars[bar] + (bar === rowBar ? " (this row)" : ""));
  head.scope = "row";
  tr.append(head, ...[counts, normal, anomaly].map((numbers) => element("td", "number", formatCount(numbers[bar]))));
  return tr;
}

// Heights are square roots of the counts, so that bars of a few rows stay visible.
export function drawColumnHistogram() {
  if (!shown) return;
  const { bars, counts, normal, anomaly, row_bar: rowBar } = shown.histogram;
  const { context, width, height } = prepareCanvas($("column-canvas"));
  const palette = readPalette();
  const step = width / Math.max(1, bars.length);
  const tallest = Math.sqrt(Math.max(...counts, 1));
  const bottom = height - FOOT;
  counts.forEach((n, bar) => {
    if (!n) return;
    const barHeight = Math.max(2, ((bottom - 8) * Math.sqrt(n)) / tallest);
    context.fillStyle = palette.named(bar === rowBar ? "accent" : "low");
    context.fillRect(bar * step + 0.5, bottom - barHeight, Math.max(1, step - 1), barHeight);
  });
  context.fillStyle = palette.named("line");
  context.fillRect(0, bottom, width, 1);
  [normal, anomaly].forEach((numbers, label) => numbers.forEach((n, bar) => {
    if (n) drawMark(context, (bar + 0.5) * step, bottom + 4 + 11 * label, palette.forLabel(label));
  }));
  drawNames(context, bars, width, height, palette.named("soft"));
}

function drawNames(context, bars, width, height, colour) {
  const step = width / Math.max(1, bars.length);
  const named = step >= MIN_NAME_WIDTH ? [...bars.keys()] : [0, bars.length - 1];
  const room = step >= MIN_NAME_WIDTH ? step - 6 : width / 2 - 6;
  context.fillStyle = colour;
  context.font = getComputedStyle(document.body).font.replace(/\d+(\.\d+)?px/, "12px");
  for (const bar of named) {
    const isInner = step >= MIN_NAME_WIDTH;
    context.textAlign = isInner ? "center" : bar === 0 ? "left" : "right";
    const x = isInner ? (bar + 0.5) * step : bar === 0 ? 0 : width;
    context.fillText(fitting(context, bars[bar] ?? "", room), x, height - 4);
  }
}

function fitting(context, text, room) {
  let shown = shorten(text);
  while (shown.length > 1 && context.measureText(shown).width > room) shown = `${shown.slice(0, -2)}…`;
  return shown;
}

function drawMark(context, x, top, colour) {
  context.fillStyle = colour;
  context.beginPath();
  context.moveTo(x, top);
  context.lineTo(x - 5, top + 9);
  context.lineTo(x + 5, top + 9);
  context.fill();
}
