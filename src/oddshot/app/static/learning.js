// What the labels teach: a sentence about the latest one, and how sure the ranking is.
import { $ } from "./dom.js";
import { formatCount, formatInterval, formatPercent } from "./format.js";
import { loadCertainty, loadChange } from "./learning-actions.js";
import { ownField, setUpLazyPanel } from "./lazy-panels.js";
import { rowLink } from "./row-links.js";
import { rowName } from "./row-names.js";
import { subscribe } from "./store.js";

export function setUpLearning() {
  setUpLazyPanel($("change-box"), loadChange);
  setUpLazyPanel($("certainty-box"), loadCertainty);
  subscribe(renderChange, ["change", "id", "table", "rowNames"]);
  subscribe(renderCertainty, ["certainty", "id"]);
}

function renderChange(state) {
  const change = ownField(state, "change")?.change;
  $("change").hidden = !change;
  if (!change) return;
  const isBoth = change.rose.length > 0 && change.fell.length > 0;
  const moves = [...sentence(change.rose, "rose", "Row"), ...(isBoth ? ["; "] : []), ...sentence(change.fell, "fell", isBoth ? "row" : "Row")];
  const parts = moves.length ? [...moves, ". "] : ["No other row has moved. "];
  $("change").replaceChildren(...parts, flaggedText(change.flagged), comparedText(change.compared, state.table));
}

// "Row 12 rose from rank 140 to 3, row 8 from 99 to 7"
function sentence(rows, verb, first) {
  return rows.flatMap(({ row, before, after }, index) => {
    const link = rowLink(row, `${index === 0 ? first : "row"} ${rowName(row)}`);
    const ranks = `from ${index === 0 ? "rank " : ""}${formatCount(before)} to ${formatCount(after)}`;
    return [...(index ? [", "] : []), link, ` ${index === 0 ? `${verb} ` : ""}${ranks}`];
  });
}

function flaggedText(flagged) {
  if (!flagged) return "";
  const text = `${formatCount(flagged.now)} ${flagged.now === 1 ? "row is" : "rows are"} flagged`;
  return flagged.added === null ? `${text}.` : `${text} now: ${formatCount(flagged.added)} more, ${formatCount(flagged.removed)} no longer.`;
}

const comparedText = (n, table) =>
  table && n < table.rows ? ` So far among the ${formatCount(n)} rows that are scored before and after.` : "";

function renderCertainty(state) {
  const certainty = ownField(state, "certainty");
  if (!certainty) return;
  $("certainty").textContent = certainty.missing ? `${certainty.missing}.` : certaintyText(certainty);
  $("certainty-note").hidden = Boolean(certainty.missing);
}

function certaintyText({ pairs, auc, low, high }) {
  return `Of ${formatCount(pairs)} pairs of a normal row and an anomaly that you labelled, ${formatPercent(auc)} are ranked right when each is left out (95 % interval: ${formatInterval(low, high)}).`;
}
