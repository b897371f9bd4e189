// Sets up the panels and loads what the server has open. store.js says how the modules fit together.
import { drawColumnHistogram, setUpColumnHistogram } from "./column-histogram.js";
import { drawHistogram, setUpHistogram } from "./histogram.js";
import { drawRows, revealRanked, setUpRanking } from "./ranking.js";
import { keepPolling, resume } from "./tables.js";
import { selectRow } from "./actions.js";
import { setUpColumns } from "./columns.js";
import { setUpGroups } from "./groups.js";
import { setUpHelp } from "./help.js";
import { setUpFilterDialog } from "./filter-dialog.js";
import { setUpFilters } from "./filters.js";
import { setUpFloatingMenu } from "./floating-menu.js";
import { setUpGridHead } from "./grid-head.js";
import { setUpKeyboard } from "./keyboard.js";
import { setUpLabelColumn } from "./label-column.js";
import { setUpLearning } from "./learning.js";
import { setUpPage } from "./page.js";
import { setUpQueue } from "./queue.js";
import { setUpRowCard } from "./row-card.js";
import { setUpRowNames } from "./row-names.js";
import { setUpScatterPlots } from "./scatter.js";
import { setUpSecondDetector } from "./second-detector.js";
import { setUpSimpleMethods } from "./simple-methods.js";
import { setUpTabs } from "./tabs.js";
import { setUpTimeline } from "./timeline.js";

setUpTabs();
setUpPage(); // first: panels have a size only while they are visible
setUpColumns();
setUpRowCard();
setUpRowNames();
setUpFloatingMenu();
setUpFilterDialog();
setUpColumnHistogram();
setUpFilters();
setUpGridHead();
setUpRanking();
setUpHistogram();
const drawScatterPlots = setUpScatterPlots(async (row) => revealRanked(await selectRow(row)));
setUpHelp();
setUpLabelColumn();
setUpQueue();
setUpLearning();
setUpSimpleMethods();
setUpSecondDetector();
const drawTimeline = setUpTimeline();
setUpGroups();
setUpKeyboard();

// What depends on the size of the window or on the colour scheme is drawn again.
function redraw() {
  drawHistogram();
  drawColumnHistogram();
  drawScatterPlots();
  drawTimeline();
  drawRows();
}

window.addEventListener("resize", redraw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

resume().then(keepPolling);
