// The page around the panels: start page, header with its menus, progress bar.
import { $ } from "./dom.js";
import { exportFile, loadLabelsFile, redo, undo } from "./actions.js";
import { formatCount } from "./format.js";
import { isTableShown, subscribe } from "./store.js";
import { openExample, openFile } from "./tables.js";

export function setUpPage() {
  subscribe(renderVisibility, ["tablesOpened", "table", "choosingTable"]);
  subscribe(renderProgress, ["stage", "done", "table", "upload"]);
  subscribe(renderTableName, ["tablesOpened"]);
  subscribe(renderTableFacts, ["table", "labels", "edits", "auc", "notice"]);
  setUpStart();
  setUpDropping();
  setUpHeader();
  setUpMenus();
}

function renderVisibility() {
  const shown = isTableShown();
  $("start").hidden = shown;
  for (const id of ["work", "opened", "actions"]) $(id).hidden = !shown;
}

function renderProgress({ stage, done, table, upload }) {
  const { text, share } = upload ?? { text: stageText(stage, table), share: stage ? done : null };
  $("progress").hidden = !text;
  $("progress-text").textContent = share === null ? text : `${text}, ${Math.round(100 * share)} %`;
  if (share === null) $("progress-bar").removeAttribute("value");
  else $("progress-bar").value = share;
}

function stageText(stage, table) {
  if (stage !== "scoring") return stage;
  return `scoring all ${formatCount(table?.rows ?? 0)} rows; the ranking shows those scored first`;
}

function renderTableName({ table }) {
  document.title = table ? `${table.name} – oddshot` : "oddshot";
  if (!table) return;
  $("table-name").textContent = table.name;
}

function renderTableFacts({ table, labels, edits, auc, notice }) {
  if (!table) return;
  const { normal, anomaly } = labels;
  const counts = `${formatCount(normal)} normal, ${formatCount(anomaly)} ${anomaly === 1 ? "anomaly" : "anomalies"} labelled`;
  const quality = auc === null ? "" : ` · AUC ${auc.toFixed(3)} (the example knows the truth)`;
  $("table-facts").textContent = `${formatCount(table.rows)} rows · ${counts}${quality}`;
  $("undo").disabled = !edits.can_undo;
  $("redo").disabled = !edits.can_redo;
  $("notice").textContent = notice;
  $("notice").hidden = !notice;
}

async function openAndFocus(file) {
  if (await openFile(file)) $("main").focus({ preventScroll: true });
}

// Call onFile with the file that is chosen; the same file can be chosen again.
function onFileChosen(input, onFile) {
  input.addEventListener("change", () => {
    const [file] = input.files;
    if (file) onFile(file);
    input.value = "";
  });
}

function setUpStart() {
  onFileChosen($("table-file"), openAndFocus);
  $("example").addEventListener("click", openExample);
}

function setUpDropping() {
  const drop = $("drop");
  document.addEventListener("dragover", (event) => {
    event.preventDefault();
    drop.classList.add("over");
  });
  document.addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) drop.classList.remove("over"); // the pointer has left the window
  });
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    const [file] = event.dataTransfer.files;
    if (file) openAndFocus(file);
  });
}

function setUpHeader() {
  $("undo").addEventListener("click", undo);
  $("redo").addEventListener("click", redo);
  onFileChosen($("labels-file"), (file) => {
    $("labels-menu").open = false;
    loadLabelsFile(file);
  });
  for (const button of document.querySelectorAll("[data-export]")) {
    button.addEventListener("click", () => {
      button.closest("details").open = false;
      exportFile(button.dataset.export);
    });
  }
}

// A menu is closed by a click elsewhere and by Escape.
function setUpMenus() {
  const closeMenus = (except) => {
    for (const menu of document.querySelectorAll(".menu[open]")) if (!menu.contains(except)) menu.open = false;
  };
  document.addEventListener("click", (event) => closeMenus(event.target));
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") closeMenus(null);
  });
}
