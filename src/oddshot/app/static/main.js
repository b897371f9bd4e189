// Sets up the panels and loads what the server has open. store.js says how the modules fit together.
import { drawHistogram, setUpHistogram } from "./histogram.js";
import { drawRows, revealRanked, setUpRanking } from "./ranking.js";
import { resume, selectRow, setUpPolling } from "./actions.js";
import { setUpColumns } from "./columns.js";
import { setUpKeyboard } from "./keyboard.js";
import { setUpPage } from "./page.js";
import { setUpRowCard } from "./row-card.js";
import { setUpScatterPlots } from "./scatter.js";

setUpPage(); // first: panels have a size only while they are visible
setUpColumns();
setUpRowCard();
setUpRanking();
setUpHistogram();
const drawScatterPlots = setUpScatterPlots(async (row) => revealRanked(await selectRow(row)));
setUpKeyboard();
setUpPolling();

// What depends on the size of the window or on the colour scheme is drawn again.
function redraw() {
  drawHistogram();
  drawScatterPlots();
  drawRows();
}

window.addEventListener("resize", redraw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

resume();
