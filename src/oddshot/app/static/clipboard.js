// Copies text. Where the browser has no clipboard for the page (it is not on this computer), a hidden field is copied.
import { element } from "./dom.js";

export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    copyFromField(text);
  }
}

function copyFromField(text) {
  const field = element("textarea", "visually-hidden");
  field.value = text;
  const focused = document.activeElement;
  document.body.append(field);
  field.select();
  const copied = document.execCommand("copy");
  field.remove();
  focused?.focus();
  if (!copied) throw new Error("the browser does not allow copying; select the text and copy it with its menu");
}
