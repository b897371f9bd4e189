// The list of keys.
import { $ } from "./dom.js";

export const showHelp = () => $("help-dialog").showModal();

export const setUpHelp = () => $("help").addEventListener("click", showHelp);
