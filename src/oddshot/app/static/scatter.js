// Scatter plots of rows, the map and the projected axis: a dot for a row, a ring for a labelled one; a click selects.
import { $ } from "./dom.js";
import { fillCircle, prepareCanvas, strokeCircle, strokeVertical } from "./canvas.js";
import { formatCount, formatName, labelName } from "./format.js";
import { getState, isTableShown, subscribe } from "./store.js";
import { readPalette } from "./colours.js";

const MAX_CLICK_DISTANCE = 14; // pixels between a click and the row that it selects
const MARGIN = 14; // pixels around the dots
const GOLDEN_RATIO = 0.6180339887; // its multiples, modulo 1, spread evenly
const SAME_ROWS = "The ranking lists the same rows.";

// A plot of the points in one field of the state. `place` draws what lies below the dots and returns their x and y in
// pixels; `onSelect` gets the row that was clicked.
class ScatterPlot {
  constructor(field, place, onSelect) {
    this.field = field;
    this.place = place;
    this.canvas = $(field);
    this.x = [];
    this.y = [];
    this.canvas.addEventListener("click", (event) => {
      const row = this.rowNear(event.offsetX, event.offsetY);
      if (row !== null) onSelect(row);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      this.canvas.title = tooltip(this.rowNear(event.offsetX, event.offsetY), getState().map);
    });
    subscribe((now, previous) => {
      if (now.turn === previous.turn) this.draw(); // the points of a new ranking arrive later
    }, [field, "selected", "choosingTable"]);
  }

  draw() {
    const points = getState()[this.field];
    if (!points?.rows.length || !isTableShown()) return; // the dots of the ranking before stay until new ones are here
    const { labels, selected } = getState();
    const surface = prepareCanvas(this.canvas);
    const palette = readPalette();
    [this.x, this.y] = this.place(points, surface, palette);
    const byScore = points.rows.map((_, index) => index).sort((a, b) => points.position[a] - points.position[b]);
    this.drawDots(surface.context, palette, points, byScore);
    for (const index of byScore) {
      const label = labels.rows[points.rows[index]];
      if (label !== undefined) this.drawRing(surface.context, palette, index, label);
    }
    const index = points.rows.indexOf(selected);
    if (index >= 0) strokeCircle(surface.context, this.x[index], this.y[index], 10, palette.named("mark"), 2);
  }

  drawDots(context, palette, points, order) {
    const radius = points.rows.length > 1000 ? 2.2 : 3.4;
    context.globalAlpha = 0.75;
    for (const index of order) {
      fillCircle(context, this.x[index], this.y[index], radius, palette.forPosition(points.position[index]));
    }
    context.globalAlpha = 1;
  }

  drawRing(context, palette, index, label) {
    fillCircle(context, this.x[index], this.y[index], 5.5, palette.named("card"));
    strokeCircle(context, this.x[index], this.y[index], 5.5, palette.forLabel(label), 3);
  }

  // The row of the dot nearest to a point of the canvas, null where there is none close by.
  rowNear(x, y) {
    let smallest = MAX_CLICK_DISTANCE ** 2;
    let nearest = null;
    getState()[this.field]?.rows.forEach((row, index) => {
      const distance = (this.x[index] - x) ** 2 + (this.y[index] - y) ** 2;
      if (distance < smallest) [smallest, nearest] = [distance, row];
    });
    return nearest;
  }
}

// The map has the names of all rows that are drawn.
function tooltip(row, { rows, names }) {
  if (row === null) return "";
  const name = names?.[rows.indexOf(row)] ?? null;
  const label = labelName(getState().labels.rows[row]);
  return `Row ${formatName({ row, name })}${label ? `, ${label}` : ""}`;
}

// Values as pixels from MARGIN to size - MARGIN.
function fitTo(size, values) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) [low, high] = [Math.min(low, value), Math.max(high, value)];
  return values.map((value) => MARGIN + ((size - 2 * MARGIN) * (value - low)) / (high - low || 1));
}

function placeOnMap(points, { width, height }) {
  return [fitTo(width, points.x), fitTo(height, points.y).map((y) => height - y)];
}

// Draws the centre c and the threshold. The vertical position of a row means nothing: it keeps rows apart.
function placeOnAxis(points, { context, width, height }, palette) {
  const toPixel = (x) => width / 2 + (width / 2 - MARGIN) * x;
  strokeVertical(context, toPixel(0), 4, height - 18, palette.named("normal"), { lineWidth: 1.5 });
  context.fillStyle = palette.named("soft");
  context.font = "12px system-ui, sans-serif";
  context.textAlign = "center";
  context.fillText("c", toPixel(0), height - 4);
  if (points.threshold !== null && points.threshold <= 1) {
    for (const x of [-points.threshold, points.threshold]) {
      strokeVertical(context, toPixel(x), 4, height - 18, palette.named("mark"), { lineWidth: 1.5, dash: [5, 4] });
    }
    context.fillText("threshold", Math.min(toPixel(points.threshold), width - 30), height - 4);
  }
  return [points.x.map(toPixel), points.rows.map((row) => 8 + (height - 34) * ((row * GOLDEN_RATIO) % 1))];
}

function describeMap({ map }) {
  if (!map) return;
  const text = `Map of ${formatCount(map.rows.length)} rows coloured by score; labelled rows have rings.`;
  $("map").setAttribute("aria-label", `${text} ${SAME_ROWS}`);
}

function describeAxis({ axis, adapted }) {
  if (!axis) return;
  const n = axis.rows.length;
  $("axis").hidden = n === 0;
  const text = `${formatCount(n)} rows on the projected axis, with the centre in the middle.`;
  $("axis").setAttribute("aria-label", `${text} ${SAME_ROWS}`);
  if (n > 0) $("axis-note").textContent = "The labels give one direction; the farther a row lies from the centre c, the more anomalous.";
  else $("axis-note").textContent = adapted ? "This model's method has no such axis." : "There is no axis before the detector starts.";
}

// Returns a function that draws both plots again.
export function setUpScatterPlots(onSelect) {
  subscribe(describeMap, ["map"]);
  subscribe(describeAxis, ["axis"]); // before it is drawn: a hidden canvas has no size
  const plots = [new ScatterPlot("map", placeOnMap, onSelect), new ScatterPlot("axis", placeOnAxis, onSelect)];
  return () => plots.forEach((plot) => plot.draw());
}
