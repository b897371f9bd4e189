// What each column adds to a row's score, as small bars.

const MAX_BARS = 40;
const HEIGHT = 24; // pixels
const MAX_WIDTH = 64;
const SVG = "http://www.w3.org/2000/svg";

function svgElement(tag, attributes) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

// The columns with the largest contributions, in the order of the table.
function largestColumns(added) {
  const indices = added.map((_, index) => index);
  if (added.length <= MAX_BARS) return indices;
  const bySize = indices.sort((a, b) => Math.abs(added[b]) - Math.abs(added[a]));
  return bySize.slice(0, MAX_BARS).sort((a, b) => a - b);
}

// One bar for each column: up where it raises the score, down where it lowers it.
export function contributionBars({ columns, added }) {
  const drawn = largestColumns(added);
  const largest = Math.max(...added.map(Math.abs)) || 1;
  const step = Math.min(8, MAX_WIDTH / drawn.length);
  const raising = drawn.filter((index) => added[index] > 0).sort((a, b) => added[b] - added[a]);
  const names = raising.slice(0, 3).map((index) => columns[index]);
  const bars = svgElement("svg", { class: "bars", width: step * drawn.length, height: HEIGHT, role: "img" });
  bars.setAttribute("aria-label", names.length ? `raised most by ${names.join(", ")}` : "raised by no column");
  bars.append(svgElement("rect", { class: "zero", x: 0, y: HEIGHT / 2 - 0.5, width: step * drawn.length, height: 1 }));
  drawn.forEach((index, place) => {
    bars.append(bar(columns[index], added[index] / largest, place * step + 0.1 * step, 0.8 * step));
  });
  return bars;
}

// share: of the largest contribution, from -1 to 1.
function bar(name, share, x, width) {
  const height = Math.max(0.5, Math.abs(share) * (HEIGHT / 2 - 1));
  const up = share > 0;
  const y = up ? HEIGHT / 2 - height : HEIGHT / 2;
  const rect = svgElement("rect", { class: up ? "up" : "down", x, y, width, height, rx: 1 });
  const title = svgElement("title", {});
  title.textContent = name;
  rect.append(title);
  return rect;
}
