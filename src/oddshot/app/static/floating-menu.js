// One menu that opens beside a button. Arrows move in it, Escape closes it and returns to the button.
import { $, element } from "./dom.js";

const MARGIN = 8; // pixels to the edges of the window

let opener = null;

export function setUpFloatingMenu() {
  const menu = $("floating-menu");
  menu.addEventListener("keydown", onKey);
  menu.addEventListener("toggle", (event) => {
    if (event.newState === "closed") opener?.setAttribute("aria-expanded", "false");
  });
  menu.addEventListener("click", (event) => {
    const item = event.target.closest("[role^=menuitem]");
    if (!item) return;
    menu.hidePopover();
    opener?.focus();
    item.action();
  });
}

// items: { text, action, checked } or { heading }. checked: true or false for a choice among several.
export function openMenu(button, label, items) {
  const menu = $("floating-menu");
  if (menu.matches(":popover-open") && opener === button) {
    menu.hidePopover();
    return;
  }
  opener = button;
  menu.setAttribute("aria-label", label);
  menu.replaceChildren(...items.map(menuItem));
  menu.showPopover();
  button.setAttribute("aria-expanded", "true");
  place(menu, button.getBoundingClientRect());
  itemsOf(menu)[0].focus();
}

function menuItem({ text, action, checked, heading }) {
  if (heading) {
    const line = element("div", "menu-heading", heading);
    line.setAttribute("role", "presentation");
    return line;
  }
  const item = element("button", "", text);
  item.type = "button";
  item.tabIndex = -1;
  item.action = action;
  item.setAttribute("role", checked === undefined ? "menuitem" : "menuitemradio");
  if (checked !== undefined) item.setAttribute("aria-checked", checked);
  return item;
}

function place(menu, { left, bottom }) {
  const { offsetWidth: width, offsetHeight: height } = menu;
  menu.style.left = `${Math.max(MARGIN, Math.min(left, window.innerWidth - width - MARGIN))}px`;
  menu.style.top = `${Math.max(MARGIN, Math.min(bottom + 4, window.innerHeight - height - MARGIN))}px`;
}

const itemsOf = (menu) => [...menu.querySelectorAll("[role^=menuitem]")];

function onKey(event) {
  const menu = $("floating-menu");
  const items = itemsOf(menu);
  const place = items.indexOf(document.activeElement);
  const targets = { ArrowDown: place + 1, ArrowUp: place - 1 + items.length, Home: 0, End: items.length - 1 };
  if (event.key in targets) {
    event.preventDefault();
    items[targets[event.key] % items.length].focus();
  } else if (event.key === "Escape" || event.key === "Tab") {
    event.preventDefault();
    menu.hidePopover();
    opener?.focus();
  }
  event.stopPropagation(); // letters label no row while the menu is open
}
