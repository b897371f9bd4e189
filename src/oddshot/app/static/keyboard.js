// Keys: arrows move in the ranking, letters label the selected row, Ctrl+Z takes the last change back, Ctrl+Shift+Z or
// Ctrl+Y makes it again, Ctrl+C copies.
import { $ } from "./dom.js";
import { labelSelected, redo, selectSuggestion, undo } from "./actions.js";
import { isTableShown } from "./store.js";
import { moveCell, moveSelection } from "./ranking.js";
import { copySelected } from "./grid-actions.js";
import { showHelp } from "./help.js";

const STEPS = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 };
const CELL_STEPS = { ArrowRight: 1, ArrowLeft: -1 };
const FIELDS = "input:not([type=checkbox], [type=radio], [type=range], [type=file]), textarea"; // in which letters are typed
const LETTERS = {
  n: () => labelSelected("normal"),
  a: () => labelSelected("anomaly"),
  u: () => labelSelected(null),
  s: selectSuggestion,
  "/": () => $("search").focus(),
};

export function setUpKeyboard() {
  document.addEventListener("keydown", (event) => {
    if (document.querySelector("dialog[open]")) return;
    const action = event.key === "?" ? helpFor(event) : isTableShown() ? actionFor(event) : undefined;
    if (!action) return;
    event.preventDefault();
    action();
  });
}

const helpFor = ({ target }) => (target.matches?.(FIELDS) ? undefined : showHelp);

// Where the focused element needs a key itself, there is no action.
function actionFor({ key, target, altKey, ctrlKey, metaKey, shiftKey }) {
  if (altKey || target.matches?.(FIELDS) || target.closest?.("[role=menu]")) return undefined;
  const letter = key.toLowerCase();
  if (ctrlKey || metaKey) return { z: shiftKey ? redo : undo, y: redo, c: copies() ? copySelected : undefined }[letter];
  if (target.matches?.("select")) return undefined;
  const step = STEPS[key];
  if (step && !target.matches?.("input, summary") && !target.closest?.(".why, .scroll-x, .chooser")) {
    return () => moveSelection(step);
  }
  if (key in CELL_STEPS) return target.id === "grid" ? () => moveCell(CELL_STEPS[key]) : undefined;
  return LETTERS[letter];
}

// Text that is selected on the page is copied by the browser.
const copies = () => getSelection().isCollapsed;
