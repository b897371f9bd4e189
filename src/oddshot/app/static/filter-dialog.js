// The dialog that makes a filter for a column, for labels or for the threshold.
import { $, attempt, element } from "./dom.js";
import { setFilters } from "./grid-actions.js";
import { fetchHistogram } from "./column-histogram.js";
import { formatCount } from "./format.js";
import { getState } from "./store.js";

const OTHER_VALUES = "other values"; // the last bar of a histogram with many categories

let replaced = []; // the filters that the fields of the open dialog stand for
let readFilters = () => []; // those that the fields make now

export function setUpFilterDialog() {
  const dialog = $("filter-dialog");
  $("filter-form").addEventListener("submit", (event) => {
    event.preventDefault();
    dialog.close();
    const { filters } = getState().query;
    setFilters([...filters.filter((filter) => !replaced.includes(filter)), ...readFilters()]);
  });
  $("filter-cancel").addEventListener("click", () => dialog.close());
}

// key: "label", "score" or "column", whose name is given then.
export async function openFilterDialog(key, name) {
  const histogram = key === "column" ? await attempt(() => fetchHistogram(name)) : null;
  if (histogram === undefined) return; // the error is on the page
  $("filter-title").textContent = `Filter by ${key === "column" ? name : { label: "label", score: "threshold" }[key]}`;
  const isOwn = (filter) => (key === "column" ? filter.column === name : OWN_KINDS[key].includes(filter.kind));
  replaced = getState().query.filters.filter(isOwn);
  const { fields, read } = histogram ? columnFields(name, histogram, replaced) : OWN_FIELDS[key](replaced);
  $("filter-fields").replaceChildren(...fields);
  readFilters = read;
  $("filter-dialog").showModal();
}

const OWN_KINDS = { label: ["label", "noted"], score: ["flagged"] };

const OWN_FIELDS = {
  label: (active) => {
    const now = active.find(({ kind }) => kind === "label")?.labels ?? [];
    const noted = choice("checkbox", "only rows with a note", active.some(({ kind }) => kind === "noted"), true);
    const choices = [["normal", "normal"], ["anomaly", "anomaly"], [null, "none"]];
    const boxes = choices.map(([value, text]) => choice("checkbox", text, now.includes(value), value));
    return {
      fields: [group("Rows with this label", boxes), noted.label],
      read: () => {
        const labels = chosen(boxes);
        return [...(labels.length ? [{ kind: "label", labels }] : []), ...chosen([noted]).map(() => ({ kind: "noted", noted: true }))];
      },
    };
  },
  score: (active) => {
    const now = active[0]?.flagged ?? true;
    const choices = [[true, "above the threshold (flagged)"], [false, "not above it"]];
    const boxes = choices.map(([value, text]) => choice("radio", text, now === value, value));
    return {
      fields: [group("Rows", boxes)],
      read: () => chosen(boxes).map((flagged) => ({ kind: "flagged", flagged })),
    };
  },
};

function columnFields(column, histogram, active) {
  const missing = histogram.missing
    ? [choice("checkbox", `missing (${formatCount(histogram.missing)})`, isChosen(active, null), null)]
    : [];
  const main = { number: rangeFields, date: dateFields }[histogram.kind] ?? valueFields;
  const { fields, read } = main(column, histogram, active, missing);
  return { fields, read: () => read().filter((filter) => filter !== null) };
}

const isChosen = (active, value) => active.some((filter) => filter.kind === "values" && filter.values.includes(value));

const valuesFilter = (column, boxes) => {
  const values = chosen(boxes);
  return values.length ? { kind: "values", column, values } : null;
};

function rangeFields(column, { edges }, active, missing) {
  const now = active.find(({ kind }) => kind === "range");
  const [low, high] = [
    field("number", "From", now?.low ?? "", edges[0]),
    field("number", "To", now?.high ?? "", edges.at(-1)),
  ];
  const read = () => {
    const [from, to] = [low, high].map(({ input }) => (input.value === "" ? null : Number(input.value)));
    return [
      from === null && to === null ? null : { kind: "range", column, low: from, high: to },
      valuesFilter(column, missing),
    ];
  };
  return { fields: [low.label, high.label, ...labels(missing)], read };
}

function dateFields(column, { has_times: hasTimes }, active, missing) {
  const now = active.find(({ kind }) => kind === "dates");
  const [first, last] = [momentFields("From", now?.first, hasTimes), momentFields("To", now?.last, hasTimes)];
  const read = () => {
    const [from, to] = [first.read(), last.read()];
    return [
      from === null && to === null ? null : { kind: "dates", column, first: from, last: to },
      valuesFilter(column, missing),
    ];
  };
  return { fields: [...first.fields, ...last.fields, ...labels(missing)], read };
}

// A date, with a time of day where the column has such; without a time the whole day is meant.
function momentFields(name, moment, hasTimes) {
  const [day = "", time = ""] = (moment ?? "").split("T");
  const fields = [field("date", name, day), ...(hasTimes ? [field("time", `${name}, time of day (may be left empty)`, time)] : [])];
  const read = () => fields[0].input.value ? fields.map(({ input }) => input.value).filter(Boolean).join("T") : null;
  return { fields: labels(fields), read };
}

function valueFields(column, { bars, counts }, active, missing) {
  const values = bars.flatMap((bar, index) => (bar === OTHER_VALUES ? [] : [[bar, counts[index]]]));
  const boxes = values.map(([value, n]) => choice("checkbox", `${value} (${formatCount(n)})`, isChosen(active, value), value));
  boxes.push(...missing);
  const text = field("text", "Contains", active.find(({ kind }) => kind === "text")?.text ?? "");
  const read = () => [
    valuesFilter(column, boxes),
    text.input.value ? { kind: "text", column, text: text.input.value } : null,
  ];
  return { fields: [text.label, group("One of these values", boxes)], read };
}

// Fields.

function field(type, name, value, placeholder = "") {
  const label = element("label", "field", name);
  const input = element("input");
  input.type = type;
  if (type === "number") input.step = "any";
  input.value = value;
  input.placeholder = placeholder;
  label.append(input);
  return { label, input };
}

function choice(type, name, checked, value) {
  const label = element("label", "choice");
  const input = element("input");
  input.type = type;
  input.name = "choice";
  input.checked = checked;
  label.append(input, element("span", "", name));
  return { label, input, value };
}

const labels = (boxes) => boxes.map(({ label }) => label);

const chosen = (boxes) => boxes.filter(({ input }) => input.checked).map(({ value }) => value);

function group(name, boxes) {
  const set = element("fieldset", "choices");
  set.append(element("legend", "", name), ...labels(boxes));
  return set;
}
