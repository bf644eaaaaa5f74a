import { source, type StudyEntry } from "../data/source";
import { entries, openRun, panel } from "../state/app";
import { h } from "./dom";

/** Published numbers, ours, and what is to be thought of them; each cell leads to its run. */
export function studiesPanel(): HTMLElement {
  const box = h("div", { class: "studies" }, h("p", { class: "empty" }, "Reading the studies …"));
  const load = (): void => {
    source.studies().then(
      (studies) =>
        box.replaceChildren(
          ...(studies.length > 0 ? resultsFirst(studies).map(study) : [h("p", { class: "empty" }, "No study here.")]),
        ),
      (error) => box.replaceChildren(h("p", { class: "empty" }, `The studies cannot be read: ${String(error)}`)),
    );
  };
  load();
  panel.watch((name) => name === "studies" && load());
  return box;
}

/** What has been run before what has not. */
function resultsFirst(studies: StudyEntry[]): StudyEntry[] {
  return [
    ...studies.filter((one) => one.header ?? one.problem),
    ...studies.filter((one) => !(one.header ?? one.problem)),
  ];
}

function study(one: StudyEntry): HTMLElement {
  const head = h(
    "header",
    {},
    h("h2", {}, one.title),
    h("p", { class: "lead" }, one.question),
    h("p", {}, h("small", {}, one.paper)),
  );
  if (one.problem) return h("section", {}, head, h("p", { class: "problem" }, one.problem));
  if (!one.header) {
    return h(
      "section",
      {},
      head,
      h("p", { class: "empty" }, "Not run yet. In a terminal: ", h("code", {}, `skyhop study run ${one.name}`)),
    );
  }
  const judged = new Set(one.header.map((title, i) => (title === "verdict" ? i : -1)));
  const ours = one.header.indexOf("ours");
  const body = one.rows.map((row) =>
    h(
      "tr",
      row.first_of_measure ? { class: "first" } : {},
      ...row.cells.map((cell, i) => {
        if (i === 0) return h("th", { scope: "row" }, cell);
        if (judged.has(i))
          return h("td", {}, cell === "–" ? cell : h("span", { class: `verdict ${cell.split(" ")[0]}` }, cell));
        if (i === ours && row.run && entries.value.some((entry) => entry.id === row.run))
          return h("td", { class: "number" }, runLink(row.run, cell));
        return h("td", { class: /^[\d–+−-]/.test(cell) ? "number" : "" }, cell);
      }),
    ),
  );
  const table = h(
    "table",
    {},
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        ...one.header.map((title, i) => h("th", { scope: "col", class: numeric(one, i) ? "number" : "" }, title)),
      ),
    ),
    h("tbody", {}, ...body),
  );
  const reasons = one.reasons.map(([what, why]) => h("div", {}, h("dt", {}, what), h("dd", {}, why)));
  const scroll = h(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": `Results of ${one.title}` },
    table,
  );
  return h("section", {}, head, scroll, h("dl", { class: "reasons" }, ...reasons));
}

function numeric(one: StudyEntry, column: number): boolean {
  const cells = one.rows.map((row) => row.cells[column] ?? "");
  return column > 0 && cells.every((cell) => cell === "" || /^[\d–+−-]/.test(cell));
}

function runLink(id: string, text: string): HTMLElement {
  const show = async (): Promise<void> => {
    await openRun(id);
    panel.value = "watch";
  };
  return h("button", { type: "button", class: "link", title: "Open this run", onclick: () => void show() }, text);
}
