// Keys: arrows move in the ranking, letters label the selected row, Ctrl+Z takes the last change back.
import { labelSelected, selectSuggestion, undo } from "./actions.js";
import { isTableShown } from "./store.js";
import { moveSelection } from "./ranking.js";

const STEPS = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 };
const LETTERS = {
  n: () => labelSelected("normal"),
  a: () => labelSelected("anomaly"),
  u: () => labelSelected(null),
  s: selectSuggestion,
};

export function setUpKeyboard() {
  document.addEventListener("keydown", (event) => {
    const action = isTableShown() ? actionFor(event) : undefined;
    if (!action) return;
    event.preventDefault();
    action();
  });
}

// Where the focused element needs a key itself, there is no action.
function actionFor({ key, target, altKey, ctrlKey, metaKey }) {
  if (altKey) return undefined;
  const letter = key.toLowerCase();
  if (ctrlKey || metaKey) return letter === "z" ? undo : undefined;
  const step = STEPS[key];
  if (step && !target.matches?.("input, select, textarea, summary") && !target.closest?.(".why, .scroll-x")) {
    return () => moveSelection(step);
  }
  return target.matches?.("textarea, input[type=text]") ? undefined : LETTERS[letter];
}
