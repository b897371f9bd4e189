// The map and the projected axis: dots for rows, rings for labelled ones; a click chooses a row.
import { $, count, labelName } from "./dom.js";
import { palette, prepare } from "./colours.js";

const REACH = 14; // pixels within which a click finds a row
const GOLDEN = 0.6180339887;

class Dots {
  constructor(canvas, place, choose) {
    Object.assign(this, { canvas, place, points: null, labels: {}, selected: null, xs: [], ys: [] });
    canvas.addEventListener("click", (event) => {
      const row = this.find(event.offsetX, event.offsetY);
      if (row !== null) choose(row);
    });
    canvas.addEventListener("pointermove", (event) => {
      const row = this.find(event.offsetX, event.offsetY);
      canvas.title = row === null ? "" : `Row ${count(row + 1)}${this.labels[row] === undefined ? "" : `, ${labelName(this.labels[row])}`}`;
    });
  }

  show(points, labels, selected) {
    Object.assign(this, { points, labels, selected });
    this.draw();
  }

  select(row) {
    this.selected = row;
    this.draw();
  }

  draw() {
    if (!this.points) return;
    const surface = prepare(this.canvas);
    const colours = palette();
    [this.xs, this.ys] = this.place(this.points, surface, colours);
    const order = this.points.rows.map((_, k) => k).sort((a, b) => this.points.position[a] - this.points.position[b]);
    for (const k of order) this.dot(surface.context, colours, k);
    for (const k of order) if (this.labels[this.points.rows[k]] !== undefined) this.ring(surface.context, colours, k);
    this.cross(surface.context, colours);
  }

  dot(context, colours, k) {
    context.fillStyle = colours.ramp(this.points.position[k]);
    context.globalAlpha = 0.75;
    context.beginPath();
    context.arc(this.xs[k], this.ys[k], this.points.rows.length > 1000 ? 2.2 : 3.4, 0, 7);
    context.fill();
    context.globalAlpha = 1;
  }

  ring(context, colours, k) {
    context.beginPath();
    context.arc(this.xs[k], this.ys[k], 5.5, 0, 7);
    context.fillStyle = colours.of("card");
    context.fill();
    context.lineWidth = 3;
    context.strokeStyle = colours.label(this.labels[this.points.rows[k]]);
    context.stroke();
  }

  cross(context, colours) {
    const k = this.points.rows.indexOf(this.selected);
    if (k < 0) return;
    context.strokeStyle = colours.of("mark");
    context.lineWidth = 2;
    context.beginPath();
    context.arc(this.xs[k], this.ys[k], 10, 0, 7);
    context.stroke();
  }

  find(x, y) {
    if (!this.points) return null;
    let best = REACH * REACH;
    let found = null;
    this.points.rows.forEach((row, k) => {
      const distance = (this.xs[k] - x) ** 2 + (this.ys[k] - y) ** 2;
      if (distance < best) [best, found] = [distance, row];
    });
    return found;
  }
}

function fit(values, room) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) [low, high] = [Math.min(low, value), Math.max(high, value)];
  return values.map((value) => 14 + ((room - 28) * (value - low)) / (high - low || 1));
}

function onMap(points, { width, height }) {
  return [fit(points.x, width), fit(points.y, height).map((y) => height - y)];
}

function onAxis(points, { context, width, height }, colours) {
  const at = (x) => width / 2 + (width / 2 - 14) * x;
  const line = (x, style, dash) => {
    context.strokeStyle = style;
    context.lineWidth = 1.5;
    context.setLineDash(dash);
    context.beginPath();
    context.moveTo(x, 4);
    context.lineTo(x, height - 18);
    context.stroke();
    context.setLineDash([]);
  };
  line(at(0), colours.of("normal"), []);
  context.fillStyle = colours.of("soft");
  context.font = "12px system-ui, sans-serif";
  context.textAlign = "center";
  context.fillText("c", at(0), height - 4);
  if (points.threshold !== null && points.threshold <= 1) {
    for (const side of [-1, 1]) line(at(side * points.threshold), colours.of("mark"), [5, 4]);
    context.fillText("threshold", Math.min(at(points.threshold), width - 30), height - 4);
  }
  // Rows are spread vertically so that none hides another.
  return [points.x.map(at), points.rows.map((row) => 8 + (height - 34) * ((row * GOLDEN) % 1))];
}

export const makeMap = (choose) => new Dots($("map"), onMap, choose);
export const makeAxis = (choose) => new Dots($("axis"), onAxis, choose);
