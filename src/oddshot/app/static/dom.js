// Elements, and messages to the person. Text of the table reaches the page through textContent only.

export const $ = (id) => document.getElementById(id);

export function element(tag, className = "", text = "") {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== "") node.textContent = text;
  return node;
}

// Announce to a screen reader.
export function announce(text) {
  $("status").textContent = text;
}

// Show an error, or none any more.
export function showError(error) {
  $("message").textContent = error ? error.message : "";
  $("message").hidden = !error;
}

// Run a task and show its error, if there is one; the result is then undefined.
export async function attempt(task) {
  try {
    return await task();
  } catch (error) {
    showError(error);
    return undefined;
  }
}

// The same for something that the person asked for: the error before it disappears.
export function attemptAction(task) {
  showError(null);
  return attempt(task);
}
