// The state of the page, and the only place that owns it.
//
// Data flows in one direction:
//
//   a person's action -> actions.js sends a request (api.js) -> update(answer) -> subscribers render
//
// - actions.js holds what a person can do, loading.js fetches what has to be shown for it. Both change the state, with
//   `update`. Nothing else does, apart from scrolling in ranking.js.
// - Panels render the state and call actions: page.js (start page, header, progress bar), row-card.js, ranking.js,
//   histogram.js, scatter.js (map and projected axis), columns.js. They keep no copy of the state: they read the one that
//   `subscribe` hands them, or `getState()` in event handlers.
// - main.js sets up the panels in the order in which they render.
//
// To add a panel: a section in index.html, a field below for its data, a function in loading.js that fetches the data and
// calls `update`, a module that subscribes to the field and renders it, and a call in main.js that sets it up.

const INITIAL_STATE = {
  // The server's answers, with the names of `views.state` in views.py. `turn` grows with each ranking.
  turn: 0,
  stage: "",
  done: null,
  table: null,
  labels: null,
  adapted: false,
  notice: "",
  suggestion: null,
  auc: null,
  ranking: null,
  threshold: null,
  explained_rows: 0,
  // More answers of the server, fetched by loading.js.
  rows: { total: 0, pages: new Map() }, // page number -> rows, in the order `order`
  rowsOutdated: false, // `rows` belongs to an older ranking or another order; newer rows are being fetched
  explanations: new Map(), // row -> what each column adds to its score, null while that is being fetched
  rowCard: null, // the selected row, its explanation and the row that it is compared with
  map: null,
  axis: null,
  // What the person does on this page.
  tablesOpened: 0, // grows with each table that is opened, and when its columns change
  choosingTable: false, // the start page is shown although a table is open
  upload: null, // { text, share } while a file is uploaded
  order: "score", // of the ranking: "score", "row" or "labelled"
  firstVisible: 0, // index, in this order, of the first row in sight
  selected: null, // the selected row
  draggedPosition: null, // of the threshold, from 0 to 1, until the server has answered
};

export function createStore(initialState) {
  let state = Object.freeze({ ...initialState });
  let notifying = false;
  const subscribers = [];

  // Merge a patch into the state, notify the subscribers, and return true. A patch with an older `turn` is an answer that
  // a newer one has overtaken: it is ignored and false is returned, unless `evenIfOlder` is set.
  function update(patch, { evenIfOlder = false } = {}) {
    if (notifying) throw new Error("a subscriber must not update the state");
    if (patch.turn < state.turn && !evenIfOlder) return false;
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
