// The menu of a column of the ranking.
import { LEFT_OUT, changeKind, copyCell, setHidden, setPinned, setSort } from "./grid-actions.js";
import { nameRowsBy } from "./actions.js";
import { rowName } from "./row-names.js";
import { getState } from "./store.js";
import { openFilterDialog } from "./filter-dialog.js";
import { openMenu } from "./floating-menu.js";
import { showColumnHistogram } from "./column-histogram.js";

const KINDS = [
  [null, "as recognised"],
  ["number", "a number"],
  ["category", "a category"],
  ["date", "a date"],
  ["text", "text"],
  [LEFT_OUT, "leave out"],
];

// key: "label", "score" or "column".
export function openColumnMenu(button, key, name) {
  if (key === "column") openMenu(button, `Column ${name}`, columnItems(name));
  else openMenu(button, key === "label" ? "Label" : "Score", ownItems(key));
}

function sortItems(by, column) {
  const sort = (descending) => () => setSort({ by, column, descending });
  return [
    { text: "Sort up: smallest first", action: sort(false) },
    { text: "Sort down: largest first", action: sort(true) },
  ];
}

function ownItems(key) {
  const filter = { text: "Filter…", action: () => openFilterDialog(key, "") };
  return key === "score" ? [...sortItems("score", ""), filter] : [filter];
}

function columnItems(name) {
  const { edits, selected, table } = getState();
  const isPinned = edits.pinned.includes(name);
  const isRowName = edits.id_column === name;
  const kind = table.left_out.includes(name) ? LEFT_OUT : (edits.kinds[name] ?? null);
  return [
    ...sortItems("column", name),
    { text: "Filter…", action: () => openFilterDialog("column", name) },
    { text: "Histogram…", action: () => showColumnHistogram(name) },
    { text: isPinned ? "Unpin" : "Pin to the left", action: () => setPinned(name, !isPinned) },
    { text: "Hide", action: () => setHidden(name, true) },
    { text: isRowName ? "Do not use as row name" : "Use as row name", action: () => nameRowsBy(isRowName ? null : name) },
    { text: `Copy the cell of row ${rowName(selected)}`, action: () => copyCell(selected, name) },
    { heading: "Use as" },
    ...KINDS.map(([value, text]) => ({ text, checked: value === kind, action: () => changeKind(name, value) })),
  ];
}
