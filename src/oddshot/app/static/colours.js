// The page's colours for canvases, and the ramp from low to high scores.

const parse = (hex) => [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16));

export function palette() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(`--${name}`).trim();
  const [low, mid, high] = ["low", "mid", "high"].map((name) => parse(of(name)));
  const ramp = (position) => {
    const [from, to, share] = position < 0.5 ? [low, mid, 2 * position] : [mid, high, 2 * position - 1];
    return `rgb(${from.map((value, k) => Math.round(value + share * (to[k] - value))).join(" ")})`;
  };
  return { of, ramp, label: (label) => of(label === 1 ? "anomaly" : "normal") };
}

// A canvas ready to be drawn on in CSS pixels.
export function prepare(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const { clientWidth: width, clientHeight: height } = canvas;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  context.clearRect(0, 0, width, height);
  return { context, width, height };
}
