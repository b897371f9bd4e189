// The tabs: one for each open table. Arrow keys go from one to the next, Delete closes one.
import { $, element } from "./dom.js";
import { chooseTable, closeTable, switchTo } from "./tables.js";
import { getState, subscribe } from "./store.js";

const STEPS = { ArrowLeft: -1, ArrowRight: 1 };

export function setUpTabs() {
  subscribe(render, ["tables", "id", "choosingTable"]);
  $("tabs").addEventListener("click", onClick);
  $("tabs").addEventListener("auxclick", (event) => event.button === 1 && closeTable(event.target.closest("[role=tab]")?.dataset.id));
  $("tabs").addEventListener("keydown", onKey);
  $("new-table").addEventListener("click", () => {
    chooseTable();
    $("table-file").focus();
  });
}

function onClick(event) {
  const tab = event.target.closest("[role=tab]");
  if (!tab) return;
  if (event.target.matches(".close")) closeTable(tab.dataset.id);
  else switchTo(tab.dataset.id);
}

function onKey(event) {
  const { id } = event.target.dataset;
  if (event.key === "Delete") closeTable(id).then(focusShown);
  const ids = getState().tables.map((table) => table.id);
  const next = ids[(ids.indexOf(id) + STEPS[event.key] + ids.length) % ids.length];
  if (!next) return;
  event.preventDefault();
  switchTo(next).then(focusShown);
}

function focusShown() {
  ($("tabs").querySelector("[aria-selected=true]") ?? $("table-file")).focus();
}

function render({ tables, id, choosingTable }) {
  $("tab-row").hidden = tables.length === 0;
  const hadFocus = $("tabs").contains(document.activeElement);
  $("tabs").replaceChildren(...tables.map((table) => tab(table, table.id === id && !choosingTable)));
  if (hadFocus) focusShown();
  $("tabs").querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
}

function tab({ id, name }, isShown) {
  const button = element("button", "tab");
  button.type = "button";
  button.dataset.id = id;
  button.title = name;
  button.tabIndex = isShown || getState().choosingTable ? 0 : -1;
  const close = element("span", "close", "×");
  close.setAttribute("aria-hidden", true); // with a keyboard, Delete closes the tab
  close.title = "Close; the labels are kept";
  button.append(element("span", "name", name), close);
  for (const [key, value] of [["role", "tab"], ["aria-selected", isShown], ["aria-controls", "work"], ["aria-keyshortcuts", "Delete"], ["aria-describedby", "tab-keys"]]) {
    button.setAttribute(key, value);
  }
  return button;
}
