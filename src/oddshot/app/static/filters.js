// Above the ranking: the search box, the filters as chips that can be removed, and the chooser of columns.
import { $, element } from "./dom.js";
import { describeFilter, isFiltered } from "./query.js";
import { formatCount } from "./format.js";
import { clearFilters, removeFilter, setHidden, setPinned, setSearch } from "./grid-actions.js";
import { getState, subscribe } from "./store.js";

const SEARCH_DELAY_MS = 250;

let searchTimer = null;

export function setUpFilters() {
  const search = $("search");
  search.addEventListener("input", () => {
    clearTimeout(searchTimer);
    searchTimer = setTimeout(() => setSearch(search.value.trim()), SEARCH_DELAY_MS);
  });
  search.addEventListener("keydown", (event) => {
    if (event.key === "Escape") search.value = "";
    if (event.key !== "Escape" && event.key !== "Enter") return;
    clearTimeout(searchTimer);
    setSearch(search.value.trim());
  });
  $("clear-filters").addEventListener("click", () => {
    clearFilters();
    search.focus();
  });
  subscribe(renderSearch, ["query"]);
  subscribe(renderChips, ["query"]);
  subscribe(renderFacts, ["query", "rows", "rowsOutdated"]);
  subscribe(renderChange, ["columnChange", "version"]);
  subscribe(({ table }) => table && renderChooser(), ["tablesOpened", "edits"]);
}

function renderSearch({ query }, before) {
  if (query.search !== before.query.search && document.activeElement !== $("search")) $("search").value = query.search;
}

function renderChips({ query: { filters } }) {
  $("chips").replaceChildren(...filters.map((filter, index) => {
    const item = element("li");
    const button = element("button", "chip", `${describeFilter(filter)} ✕`);
    button.type = "button";
    button.setAttribute("aria-label", `Remove the filter ${describeFilter(filter)}`);
    button.addEventListener("click", () => {
      removeFilter(filter);
      ($("chips").querySelectorAll("button")[index] ?? $("search")).focus();
    });
    item.append(button);
    return item;
  }));
}

// What a column's change did is shown until the next change.
function renderChange({ columnChange, version }) {
  const shown = columnChange?.version === version;
  $("column-change").hidden = !shown;
  $("column-change").textContent = shown ? columnChange.text : "";
}

function renderFacts({ query, rows, rowsOutdated, table }) {
  $("filter-bar").hidden = !isFiltered(query);
  if (!table || rowsOutdated) return;
  $("filter-facts").textContent = `${formatCount(rows.total)} of ${formatCount(table.rows)} rows`;
}

function renderChooser() {
  const { table, edits } = getState();
  const { hidden, pinned } = edits;
  const n = hidden.length;
  $("columns-summary").textContent = n ? `Columns (${formatCount(n)} hidden)` : "Columns";
  const focused = document.activeElement?.dataset.chooser;
  $("column-chooser").replaceChildren(...table.columns.map(({ name }) => {
    const line = element("div", "chosen-column");
    const label = element("label");
    const shown = checkbox(`shown ${name}`, !hidden.includes(name), (checked) => setHidden(name, !checked));
    label.append(shown, element("span", "", name));
    const pin = element("button", "pin", pinned.includes(name) ? "pinned" : "pin");
    pin.type = "button";
    pin.dataset.chooser = `pin ${name}`;
    pin.setAttribute("aria-label", `Pin ${name} to the left`);
    pin.setAttribute("aria-pressed", pinned.includes(name));
    pin.addEventListener("click", () => setPinned(name, !pinned.includes(name)));
    line.append(label, pin);
    return line;
  }));
  [...$("column-chooser").querySelectorAll("[data-chooser]")].find(({ dataset }) => dataset.chooser === focused)?.focus();
}

function checkbox(identity, checked, onChange) {
  const box = element("input");
  box.type = "checkbox";
  box.checked = checked;
  box.dataset.chooser = identity;
  box.addEventListener("change", () => onChange(box.checked));
  return box;
}
