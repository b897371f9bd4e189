// The order of the labelling queue: which of its rows is due, and which one follows.
import { ownField } from "./lazy-panels.js";

const isDone = ({ labels }, { skipped }, row) => labels.rows[row] !== undefined || skipped.includes(row);

// The selected row if it is in the queue, otherwise null.
export function currentRow(state) {
  const queue = ownField(state, "queue");
  return queue?.rows.includes(state.selected) ? state.selected : null;
}

// The first row that is neither labelled nor skipped, those after the selected one first; null where all are done.
export function nextRow(state) {
  const queue = ownField(state, "queue");
  if (!queue) return null;
  const place = queue.rows.indexOf(state.selected) + 1;
  const inTurn = [...queue.rows.slice(place), ...queue.rows.slice(0, place)];
  return inTurn.find((row) => !isDone(state, queue, row)) ?? null;
}

export function countDone(state) {
  const queue = ownField(state, "queue");
  return queue.rows.filter((row) => isDone(state, queue, row)).length;
}
