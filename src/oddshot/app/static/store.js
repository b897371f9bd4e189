// The state of the page, and the only place that owns it.
//
// Data flows in one direction:
//
//   a person's action -> actions.js sends a request (api.js) -> update(answer) -> subscribers render
//
// - actions.js holds what a person can do, loading.js fetches what has to be shown for it. Both change the state, with
//   `update`. Nothing else does, apart from scrolling in ranking.js.
// - Panels render the state and call actions: page.js (start page, header, progress bar), tabs.js, row-card.js, ranking.js
//   (with grid-head.js, grid-rows.js, filters.js above it, and grid-actions.js for what a person does there), histogram.js,
//   scatter.js (map and projected axis), columns.js; queue.js, learning.js, simple-methods.js, second-detector.js,
//   timeline.js, groups.js, whose actions are in learning-actions.js and whose data lazy-panels.js fetches while they are
//   in sight. They keep no copy of the state: they read the one that
//   `subscribe` hands them, or `getState()` in event handlers.
// - main.js sets up the panels in the order in which they render.
//
// To add a panel: a section in index.html, a field below for its data, a function in loading.js that fetches the data and
// calls `update`, a module that subscribes to the field and renders it, and a call in main.js that sets it up.

import { EVERY_ROW } from "./query.js";

// What the person does in one tab, and finds again when coming back to it.
export const NEW_TAB = {
  query: EVERY_ROW, // which rows the ranking shows, and in which order
  firstVisible: 0, // index, in this order, of the first row in sight
  selected: null, // the selected row
  selectedColumn: null, // the name of the selected cell's column; null where the whole row is selected
};

const INITIAL_STATE = {
  tables: [], // the open tables, as `views.tables` in views.py describes them
  // The server's answers about the table on display, with the names of `views.state`. `turn` grows with each ranking.
  // `version` with each change of what the person has said about the table.
  id: null,
  turn: 0,
  version: 0,
  unsaved: false,
  stage: "",
  done: null,
  table: null,
  labels: null,
  edits: null,
  adapted: false,
  notice: "",
  suggestion: null,
  auc: null,
  ranking: null,
  threshold: null,
  explained_rows: 0,
  // More answers of the server, fetched by loading.js.
  rows: { total: 0, pages: new Map() }, // page number -> rows, of `query`
  rowsOutdated: false, // `rows` belongs to an older ranking or another query; newer rows are being fetched
  explanations: new Map(), // row -> what each column adds to its score, null while that is being fetched
  rowCard: null, // the selected row, its explanation and the row that it is compared with
  map: null,
  axis: null,
  rowNames: null, // { id, column, names }: of the rows that sentences and lists mention
  // The same for what labels teach (learning-actions.js), each with the `id` of its table.
  change: null,
  certainty: null,
  queue: null, // { rows, skipped } while the person works through it
  simpleMethods: null,
  second: null,
  timeline: null, // with `choice`, the column and the span that are shown, and `range`, the selected one
  groups: null,
  // What the person does on this page.
  tablesOpened: 0, // grows with each table that is shown, and when its columns change
  choosingTable: false, // the start page is shown although a table is open
  upload: null, // { text, share } while a file is uploaded
  ...NEW_TAB,
  columnChange: null, // { version, text }: what the last change of a column has done to the ranking
  draggedPosition: null, // of the threshold, from 0 to 1, until the server has answered
};

export function createStore(initialState) {
  let state = Object.freeze({ ...initialState });
  let notifying = false;
  const subscribers = [];

  // Merge a patch into the state, notify the subscribers, and return true. A patch with an older `turn` or `version` is an
  // answer that a newer one has overtaken, and one with another `id` concerns a table that is not on display: it is ignored and false
  // is returned, unless `evenIfOlder` is set.
  function update(patch, { evenIfOlder = false } = {}) {
    if (notifying) throw new Error("a subscriber must not update the state");
    const isOlder = patch.turn < state.turn || patch.version < state.version;
    if (!evenIfOlder && (isOlder || (patch.id ?? state.id) !== state.id)) return false;
    const previous = state;
    state = Object.freeze({ ...state, ...patch });
    notifying = true;
    for (const notify of subscribers) {
      try {
        notify(state, previous);
      } catch (error) {
        reportError(error); // on the console; the other panels are rendered all the same
      }
    }
    notifying = false;
    return true;
  }

  // Call listener(state, previous) after each update, or only after those that changed one of the given fields.
  function subscribe(listener, fields = null) {
    subscribers.push((now, previous) => {
      if (fields === null || fields.some((field) => now[field] !== previous[field])) listener(now, previous);
    });
  }

  return { getState: () => state, update, subscribe };
}

export const { getState, update, subscribe } = createStore(INITIAL_STATE);

// Whether the panels of an open table are on display, and not the start page.
export const isTableShown = () => Boolean(getState().table) && !getState().choosingTable;
