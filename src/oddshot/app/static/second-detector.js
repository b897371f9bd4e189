// A second detector, or another model, beside the page's: how far their rankings agree, and where they do not.
import { $, element } from "./dom.js";
import { addSecond, loadSecond, removeSecond } from "./learning-actions.js";
import { formatCount } from "./format.js";
import { ownField, setUpLazyPanel } from "./lazy-panels.js";
import { rowLink } from "./row-links.js";
import { rowName } from "./row-names.js";
import { subscribe } from "./store.js";

export function setUpSecondDetector() {
  const input = $("second-file");
  input.addEventListener("change", () => {
    const [file] = input.files;
    if (file) addSecond(file);
    input.value = "";
  });
  $("second-remove").addEventListener("click", removeSecond);
  setUpLazyPanel($("second-box"), loadSecond);
  subscribe(render, ["second", "id", "rowNames"]);
}

function render(state) {
  const second = ownField(state, "second");
  const isThere = Boolean(second?.name);
  $("second-remove").hidden = !isThere;
  const rows = second?.rows ?? [];
  $("second-table").hidden = !rows.length;
  $("second-facts").textContent = isThere ? describe(second, state.table) : "Nothing is compared yet.";
  $("second-rows").replaceChildren(...rows.map(line));
}

function describe({ name, error, is_model: isModel, compared, correlation, flagged }, table) {
  if (error) return `${name} cannot be compared now: ${error}.`;
  const what = isModel ? `${name}, adapted to the labels of this page` : name;
  const order = correlation === null ? "" : ` The rankings correlate by ${correlation.toFixed(2)} (Spearman).`;
  const rows = compared < table.rows ? ` Compared on ${formatCount(compared)} of ${formatCount(table.rows)} rows.` : "";
  const both = flagged ? ` Flagged by both: ${formatCount(flagged.both)}, only by this page: ${formatCount(flagged.first)}, only by the other: ${formatCount(flagged.second)}.` : "";
  return `${what}.${order}${both}${rows}`;
}

function line({ row, first, second }) {
  const tr = element("tr");
  const head = element("th");
  head.scope = "row";
  head.append(rowLink(row, rowName(row)));
  tr.append(head, element("td", "number", formatCount(first)), element("td", "number", formatCount(second)));
  return tr;
}
