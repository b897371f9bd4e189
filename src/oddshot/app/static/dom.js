// Small helpers. Text of the table reaches the page through textContent only.

export const $ = (id) => document.getElementById(id);

export function element(tag, className = "", text = "") {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== "") node.textContent = text;
  return node;
}

const plain = new Intl.NumberFormat("en");

export const count = (n) => plain.format(n);

export function number(x) {
  if (x === null || x === undefined) return "–";
  if (x === 0 || (Math.abs(x) >= 0.001 && Math.abs(x) < 1e6)) return String(Number(x.toPrecision(4)));
  return x.toExponential(2);
}

export function percent(x) {
  if (x === null || x === undefined) return "–";
  return `${(100 * x).toFixed(x < 0.0995 ? 1 : 0)} %`;
}

export function shown(cell) {
  if (cell === null) return "";
  return typeof cell === "number" && !Number.isInteger(cell) ? number(cell) : String(cell);
}

export const labelName = (label) => (label === 1 ? "anomaly" : label === 0 ? "normal" : "");

// The same for what the person asked for.
export function act(action) {
  fail(null);
  return attempt(action);
}

// Tell a screen reader.
export function say(text) {
  $("status").textContent = text;
}

export function fail(error) {
  $("message").textContent = error ? error.message : "";
  $("message").hidden = !error;
}

// Run something that may be refused, and show the refusal; it stays until the person does something else.
export async function attempt(action) {
  try {
    return await action();
  } catch (error) {
    fail(error);
    return undefined;
  }
}
