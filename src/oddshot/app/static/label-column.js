// The dialog that takes labels from a column of the table: its values, and what each of them means.
import { $, element } from "./dom.js";
import { formatCount } from "./format.js";
import { get, ofTable } from "./api.js";
import { getState } from "./store.js";
import { takeLabels } from "./actions.js";

const MEANINGS = ["unlabelled", "normal", "anomaly"];

export function setUpLabelColumn() {
  $("take-labels").addEventListener("click", () => {
    $("labels-menu").open = false;
    open();
  });
  $("label-column-name").addEventListener("change", loadValues);
  $("label-column-cancel").addEventListener("click", () => $("label-column").close());
  $("label-column-apply").addEventListener("click", apply);
}

function open() {
  const { columns } = getState().table;
  $("label-column-name").replaceChildren(...columns.map(({ name }) => element("option", "", name)));
  $("label-column-name").selectedIndex = likelyColumn(columns);
  $("label-column").showModal();
  loadValues();
}

// The column that is named like labels, otherwise the last one with few values.
function likelyColumn(columns) {
  const named = columns.findIndex(({ name }) => /label|anomal|fault|fraud|class|target/i.test(name));
  return Math.max(0, named >= 0 ? named : columns.findLastIndex(({ kind }) => kind === "boolean" || kind === "category"));
}

async function loadValues() {
  const name = $("label-column-name").value;
  $("label-column-values").replaceChildren();
  $("label-column-apply").disabled = true;
  const answer = await get(ofTable(`label-column?name=${encodeURIComponent(name)}`)).catch((error) => error);
  if (name !== $("label-column-name").value) return;
  const isRefused = answer instanceof Error;
  $("label-column-note").textContent = isRefused ? answer.message : "The detector does not use the column from then on. You can undo this.";
  if (!isRefused) $("label-column-values").replaceChildren(...answer.values.map(valueRow));
  $("label-column-apply").disabled = isRefused;
}

function valueRow({ value, rows, label }) {
  const tr = element("tr");
  const select = element("select");
  select.dataset.value = value;
  select.setAttribute("aria-label", `${value || "empty"} means`);
  select.append(...MEANINGS.map((meaning) => element("option", "", meaning)));
  select.value = label ?? "unlabelled";
  const cell = element("td");
  cell.append(select);
  tr.append(element("td", value ? "" : "soft", value || "empty"), element("td", "number", formatCount(rows)), cell);
  return tr;
}

function apply() {
  const selects = [...$("label-column-values").querySelectorAll("select")];
  const labels = Object.fromEntries(selects.map(({ dataset, value }) => [dataset.value, value === "unlabelled" ? null : value]));
  $("label-column").close();
  takeLabels($("label-column-name").value, labels);
}
