// Whether a simple method would do: a button, the progress, and the methods with their AUC.
import { $, element } from "./dom.js";
import { compareSimpleMethods, followSimpleMethods, loadSimpleMethods } from "./learning-actions.js";
import { ownField, setUpLazyPanel } from "./lazy-panels.js";
import { formatInterval, formatPercent } from "./format.js";
import { subscribe } from "./store.js";

export function setUpSimpleMethods() {
  $("compare").addEventListener("click", compareSimpleMethods);
  setUpLazyPanel($("certainty-box"), () => loadSimpleMethods().then(followSimpleMethods));
  subscribe(render, ["simpleMethods", "certainty", "id"]);
}

function render(state) {
  const job = ownField(state, "simpleMethods");
  const certainty = ownField(state, "certainty");
  const isRunning = Boolean(job) && job.done < 1 && !job.error && !job.outdated && !job.methods;
  $("compare").disabled = !certainty || Boolean(certainty.missing) || isRunning;
  $("compare-progress").hidden = !isRunning;
  if (isRunning) $("compare-progress").value = job.done;
  const methods = job?.outdated ? null : job?.methods;
  $("compare-table").hidden = !methods;
  $("compare-verdict").textContent = verdictText(job, methods);
  $("compare-rows").replaceChildren(...(methods ?? []).map(methodLine));
}

function verdictText(job, methods) {
  if (job?.error) return `The comparison has failed: ${job.error}.`;
  if (methods) return job.verdict;
  return job?.outdated ? "The labels have changed since the last comparison." : "";
}

function methodLine({ name, auc, low, high, p }) {
  const tr = element("tr");
  const head = element("th", "", name);
  head.scope = "row";
  const bar = element("span", "interval");
  bar.setAttribute("aria-hidden", "true");
  const range = element("i");
  range.style.left = `${100 * low}%`;
  range.style.width = `${100 * (high - low)}%`;
  const dot = element("b");
  dot.style.left = `${100 * auc}%`;
  bar.append(range, dot);
  const cell = element("td", "number");
  cell.append(`${formatInterval(low, high)} `, bar);
  tr.append(head, element("td", "number", formatPercent(auc)), cell, element("td", "soft", differenceText(p)));
  return tr;
}

const differenceText = (p) => (p === null ? "" : p < 0.05 ? "differs" : "within the uncertainty");
