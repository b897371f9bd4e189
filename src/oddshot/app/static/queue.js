// The labelling queue in the card of the selected row: ten rows, one after the other, by keys alone.
import { $, element } from "./dom.js";
import { labelName } from "./format.js";
import { getState, isTableShown, subscribe } from "./store.js";
import { leaveQueue, skipRow, startQueue } from "./learning-actions.js";
import { countDone, currentRow, nextRow } from "./queue-order.js";
import { goToRow } from "./row-links.js";
import { rowName } from "./row-names.js";
import { ownField } from "./lazy-panels.js";

export function setUpQueue() {
  for (const id of ["queue-start", "queue-more"]) $(id).addEventListener("click", startQueue);
  $("queue-leave").addEventListener("click", leaveQueue);
  $("queue-skip").addEventListener("click", skipRow);
  document.addEventListener("keydown", onKey, { capture: true }); // before the keys that label the selected row
  subscribe(render, ["queue", "labels", "selected", "id", "choosingTable", "rowNames"]);
}

function onKey(event) {
  if (!isTableShown() || event.altKey || event.ctrlKey || event.metaKey || document.querySelector("dialog[open]")) return;
  const action = actionFor(event.key, event.target);
  if (!action) return;
  event.preventDefault();
  event.stopPropagation();
  action();
}

function actionFor(key, target) {
  const isTyping = target.matches?.("textarea, select, input[type=text], input[type=search], input[type=number]");
  const state = getState();
  if (ownField(state, "queue")) {
    if (key === "Escape" && !document.querySelector(".menu[open]")) return leaveQueue;
    const row = currentRow(state);
    if (!isTyping && key === "u" && row !== null && state.labels.rows[row] === undefined) return skipRow;
  }
  return key === "q" && !isTyping ? startQueue : undefined;
}

function render(state, previous) {
  const queue = ownField(state, "queue");
  $("queue").hidden = !queue;
  $("queue-start").hidden = Boolean(queue);
  if (!queue) return;
  const done = countDone(state);
  const isFinished = done === queue.rows.length;
  $("queue-progress").textContent = isFinished ? `All ${done} rows are done` : `${done} of ${queue.rows.length} done`;
  $("queue-bar").max = queue.rows.length;
  $("queue-bar").value = done;
  $("queue-rows").replaceChildren(...queue.rows.map((row) => queueItem(row, state, queue)));
  $("queue-skip").hidden = isFinished || currentRow(state) === null;
  $("queue-more").hidden = !isFinished;
  const wasFinished = previous.queue && previous.id === state.id && nextRow(previous) === null;
  if (isFinished && !wasFinished) $("queue-more").focus({ preventScroll: true }); // Enter goes on
}

function queueItem(row, { labels, selected }, { skipped }) {
  const item = element("li");
  const outcome = labelName(labels.rows[row]) || (skipped.includes(row) ? "skipped" : "");
  const button = element("button", `queued ${outcome}`, rowName(row));
  button.type = "button";
  button.setAttribute("aria-label", `Row ${rowName(row)}${outcome ? `, ${outcome}` : ""}`);
  if (row === selected) button.setAttribute("aria-current", "true");
  button.addEventListener("click", () => goToRow(row));
  item.append(button);
  return item;
}
