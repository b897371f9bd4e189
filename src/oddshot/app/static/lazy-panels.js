// Panels that are fetched only while they are in sight, after the rows of the ranking that they belong to: a label must
// not wait for them.
import { getState, isTableShown, subscribe } from "./store.js";

const DELAY_MS = 120; // of labels that follow each other closely only the last one counts

const rankingKey = ({ id, turn, tablesOpened, threshold }) => JSON.stringify([id, turn, tablesOpened, threshold?.value ?? null]);

// Call `load` when the ranking or its threshold has changed and `box` is in sight; `box` must not be hidden itself.
export function setUpLazyPanel(box, load) {
  let inSight = false;
  let timer = null;
  let loadedFor = null;
  const loadIfNeeded = () => {
    const state = getState();
    const key = rankingKey(state);
    if (!inSight || !isTableShown() || state.rowsOutdated || state.draggedPosition !== null || key === loadedFor) return;
    loadedFor = key;
    load();
  };
  const refresh = () => {
    clearTimeout(timer);
    timer = setTimeout(loadIfNeeded, DELAY_MS);
  };
  new IntersectionObserver((entries) => {
    inSight = entries.at(-1).isIntersecting;
    refresh();
  }, { rootMargin: "200px" }).observe(box);
  subscribe(refresh, ["id", "turn", "tablesOpened", "rowsOutdated", "threshold", "draggedPosition", "choosingTable"]);
}

// Fetch something of the table on display and put it into a field of the state, with the id of the table. Of answers that
// overlap only the latest one counts.
const latest = new Map(); // field -> number of its latest request
export async function loadField(field, fetchAnswer, update) {
  const number = (latest.get(field) ?? 0) + 1;
  latest.set(field, number);
  const { id } = getState();
  const answer = await fetchAnswer();
  if (!answer || latest.get(field) !== number || getState().id !== id) return;
  update({ [field]: { ...answer, id } });
}

// What a field holds of the table on display, null where it is of another one.
export const ownField = (state, field) => (state[field]?.id === state.id ? state[field] : null);
