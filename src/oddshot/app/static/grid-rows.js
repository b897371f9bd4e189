// The rows of the ranking as elements of the table.
import { element } from "./dom.js";
import { formatCell, formatName, formatNumber, formatPercent, labelName } from "./format.js";
import { N_OWN_COLUMNS, shownColumns } from "./grid-columns.js";
import { getState } from "./store.js";
import { contributionBars } from "./contributions.js";
import { isFiltered, sortDirection } from "./query.js";
import { positionOf } from "./score-axis.js";

export function placeholderLine(index) {
  const tr = element("tr");
  tr.setAttribute("aria-rowindex", index + 2);
  const cell = element("td", "soft", "…");
  cell.colSpan = N_OWN_COLUMNS;
  tr.append(cell);
  return tr;
}

// Makes the line of a row at an index of the ranking.
export function lineMaker(palette) {
  const state = getState();
  const columns = shownColumns(state.table.columns, state.edits);
  const isRanked = sortDirection(state.query, "score") === "descending" && !isFiltered(state.query);
  const lastFlagged = isRanked ? (state.threshold?.above ?? 0) - 1 : -1;
  return (row, index) => {
    const tr = element("tr", index === lastFlagged ? "cut" : "");
    tr.id = `row-${row.row}`;
    tr.dataset.row = row.row;
    tr.setAttribute("aria-rowindex", index + 2);
    tr.setAttribute("aria-selected", row.row === state.selected);
    tr.append(rowCell(row, state), labelCell(row), scoreCell(row, state, palette));
    tr.append(element("td", "number", formatPercent(row.probability)), whyCell(state.explanations.get(row.row)));
    tr.append(...columns.map((column) => valueCell(row, column, state)));
    return tr;
  };
}

function rowCell(row, { suggestion, edits }) {
  const cell = element("td", row.name === null ? "number pinned" : "pinned", formatName(row));
  cell.title = cell.textContent;
  const note = edits.notes[row.row];
  if (note) cell.append(noteMark(note));
  if (row.row !== suggestion) return cell;
  cell.classList.add("next");
  cell.title = "suggested next";
  cell.append(element("span", "visually-hidden", ", suggested next"));
  return cell;
}

function noteMark(note) {
  const mark = element("span", "noted", "✎");
  mark.title = note;
  mark.setAttribute("role", "img");
  mark.setAttribute("aria-label", "has a note");
  return mark;
}

function whyCell(explanation) {
  const cell = element("td");
  if (explanation) cell.append(contributionBars(explanation));
  return cell;
}

function valueCell(row, { name, kind, index, isPinned, left }, { selected, selectedColumn }) {
  const value = row.cells[index];
  const isNumber = kind === "number" || typeof value === "number";
  const cell = element("td", isNumber ? "number" : "", value === null ? "–" : formatCell(value));
  if (value === null) cell.classList.add("gap");
  if (value !== null) cell.title = String(value);
  cell.dataset.column = name;
  if (isPinned) {
    cell.classList.add("pinned");
    cell.style.left = `${left}px`;
  }
  if (row.row === selected && name === selectedColumn) {
    cell.id = "selected-cell";
    cell.setAttribute("aria-selected", true);
  }
  return cell;
}

function labelCell(row) {
  const cell = element("td");
  if (row.label !== null) {
    cell.append(element("span", `tag ${labelName(row.label)}`, labelName(row.label)));
    return cell;
  }
  const buttons = element("span", "quick");
  for (const [name, letter] of [["normal", "N"], ["anomaly", "A"]]) {
    const button = element("button", letter.toLowerCase(), letter);
    button.type = "button";
    button.tabIndex = -1;
    button.dataset.label = name;
    button.title = name;
    button.setAttribute("aria-label", `Label row ${formatName(row)} ${name}`);
    buttons.append(button);
  }
  cell.append(buttons);
  return cell;
}

function scoreCell(row, { ranking }, palette) {
  const cell = element("td", "number", formatNumber(row.score));
  if (row.score === null) return cell;
  const position = positionOf(ranking.axis, row.score);
  const meter = element("span", "meter");
  const fill = element("i");
  fill.style.width = `${Math.max(4, 100 * position)}%`;
  fill.style.background = palette.forPosition(position);
  meter.append(fill);
  cell.append(meter);
  return cell;
}
