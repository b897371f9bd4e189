// What each column adds to a row's score, as small bars.
const MOST = 40;
const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 24;

function svg(tag, attributes) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

// A bar a column in the order of the table: up where it raises the score, down where it lowers it.
export function reasonBars({ columns, added }) {
  let chosen = added.map((_, k) => k);
  if (added.length > MOST) {
    chosen = chosen.sort((a, b) => Math.abs(added[b]) - Math.abs(added[a])).slice(0, MOST).sort((a, b) => a - b);
  }
  const largest = Math.max(...added.map(Math.abs)) || 1;
  const step = Math.min(10, Math.max(3, 140 / chosen.length));
  const best = [...chosen].sort((a, b) => added[b] - added[a]).filter((k) => added[k] > 0).slice(0, 3).map((k) => columns[k]);
  const out = svg("svg", { class: "bars", width: step * chosen.length, height: HEIGHT, role: "img" });
  out.setAttribute("aria-label", best.length ? `raised most by ${best.join(", ")}` : "raised by no column");
  out.append(svg("rect", { class: "zero", x: 0, y: HEIGHT / 2 - 0.5, width: step * chosen.length, height: 1 }));
  chosen.forEach((k, place) => {
    const tall = Math.max(0.5, (Math.abs(added[k]) / largest) * (HEIGHT / 2 - 1));
    const up = added[k] > 0;
    const bar = svg("rect", { class: up ? "up" : "down", x: place * step + 0.5, y: up ? HEIGHT / 2 - tall : HEIGHT / 2, width: step - 1, height: tall, rx: 1 });
    const title = svg("title", {});
    title.textContent = columns[k];
    bar.append(title);
    out.append(bar);
  });
  return out;
}
