// Links to rows in sentences and lists.
import { element } from "./dom.js";
import { revealRanked } from "./ranking.js";
import { rowName } from "./row-names.js";
import { selectRow } from "./actions.js";

export const goToRow = async (row) => revealRanked(await selectRow(row));

export function rowLink(row, text = `row ${rowName(row)}`) {
  const link = element("button", "link row-link", text);
  link.type = "button";
  link.dataset.row = row;
  link.addEventListener("click", () => goToRow(row));
  return link;
}
