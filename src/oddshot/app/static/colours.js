// The colours of palette.css, for canvases and for the bars behind scores.

const parseHex = (hex) => [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16));

// `named`: a colour by the name of its CSS variable. `forLabel`: of label 0 or 1. `forPosition`: between those of low
// and high scores, for a position from 0 to 1 on the axis of scores.
export function readPalette() {
  const style = getComputedStyle(document.documentElement);
  const named = (name) => style.getPropertyValue(`--${name}`).trim();
  const [low, middle, high] = ["low", "mid", "high"].map((name) => parseHex(named(name)));
  const forPosition = (position) => {
    const [from, to, share] = position < 0.5 ? [low, middle, 2 * position] : [middle, high, 2 * position - 1];
    return `rgb(${from.map((value, channel) => Math.round(value + share * (to[channel] - value))).join(" ")})`;
  };
  return { named, forLabel: (label) => named(label === 1 ? "anomaly" : "normal"), forPosition };
}
