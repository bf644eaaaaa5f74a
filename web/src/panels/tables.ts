import { rowsOf, type Column, type Columns } from "../data/columns";
import type { Run } from "../data/run";
import { notice, run } from "../state/app";
import { Signal } from "../state/signal";
import { h, icon, ICONS } from "./dom";
import { number } from "./format";

/** Whether the tables of the run are open. */
export const tablesShown = new Signal(false);

/**
 * Tables of totals and of single transfers, in the order in which they are offered; charts and globe have the others.
 */
const OFFERED: readonly [name: string, title: string][] = [
  ["workloads", "Workloads by size: completion and slowdown"],
  ["workload_transfers", "Transfers of workloads"],
  ["transfers", "Transfers and portions of flows"],
  ["calls", "Calls: losses, delay, rating"],
  ["messages", "Messages and their deadlines"],
  ["links", "Links: load, queue, sojourn, marks, drops"],
  ["flows", "Flows: all measures"],
  ["flow_events", "Events of flows, with the sender's states"],
  ["handovers", "Handovers"],
];
const MOST_ROWS = 500;

/** What a run recorded beside charts and globe, table by table: search and order. */
export function tablesDialog(): HTMLElement {
  const which = h("select", { "aria-label": "Table" });
  const search = h("input", { type: "search", placeholder: "Find in any column", "aria-label": "Find in the table" });
  const told = h("p", { class: "rows-told", role: "status" });
  const scroll = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Rows of the table" });
  const close = h(
    "button",
    { type: "button", class: "quiet", "aria-label": "Close", onclick: () => (tablesShown.value = false) },
    icon(ICONS.close),
  );
  const dialog = h(
    "dialog",
    { class: "flows tables", "aria-label": "Tables of the run" },
    h("header", {}, h("h2", {}, "Tables"), which, search, close),
    told,
    scroll,
  );
  let table: Columns = {};
  let shown = "";
  let order: { column: string; down: boolean } | null = null;
  const draw = (): void => {
    const names = Object.keys(table).filter((name) => hasValues(table[name]));
    const wanted = search.value.trim().toLowerCase();
    const rows = Array.from({ length: rowsOf(table) }, (_, row) => row).filter(
      (row) =>
        wanted === "" ||
        names.some((name) =>
          String(table[name][row] ?? "")
            .toLowerCase()
            .includes(wanted),
        ),
    );
    if (order) {
      const column = table[order.column];
      const turn = order.down ? -1 : 1;
      rows.sort((a, b) => turn * compare(column[a], column[b]) || a - b);
    }
    told.textContent =
      `${rows.length} of ${rowsOf(table)} ` +
      `rows${rows.length > MOST_ROWS ? `, the first ${MOST_ROWS} are shown` : ""}`;
    const head = names.map((name) => {
      const on = order?.column === name;
      const turn = (): void => {
        order = { column: name, down: on ? !order!.down : typeof table[name][0] === "number" };
        draw();
      };
      return h(
        "th",
        { scope: "col", "aria-sort": on ? (order!.down ? "descending" : "ascending") : "none" },
        h("button", { type: "button", class: "link", onclick: turn }, name, on ? (order!.down ? " ↓" : " ↑") : ""),
      );
    });
    const body = rows.slice(0, MOST_ROWS).map((row) => h("tr", {}, ...names.map((name) => cell(table[name][row]))));
    scroll.replaceChildren(
      h("table", { "aria-label": shown }, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...body)),
    );
  };
  const read = (): void => {
    const current = run.value;
    if (!current || !tablesShown.value) return;
    const had = which.value;
    const offered = OFFERED.filter(([name]) => current.entry.tables.includes(name));
    which.replaceChildren(...offered.map(([name, title]) => h("option", { value: name }, title)));
    which.value = offered.some(([name]) => name === had) ? had : (offered[0]?.[0] ?? "");
    void load(current, which.value);
  };
  const load = async (current: Run, name: string): Promise<void> => {
    try {
      const found = await current.table(name);
      if (run.value !== current || which.value !== name) return;
      [table, shown, order] = [found, name, null];
      draw();
    } catch (error) {
      notice.value = `The table ${name} cannot be read: ${String(error)}`;
    }
  };
  which.addEventListener("change", () => run.value && void load(run.value, which.value));
  search.addEventListener("input", draw);
  dialog.addEventListener("close", () => (tablesShown.value = false));
  tablesShown.watch((on) => {
    if (on && !dialog.open) dialog.showModal();
    if (!on && dialog.open) dialog.close();
    read();
  });
  run.watch(read);
  return dialog;
}

/** A column in which this run has nothing says nothing. */
function hasValues(column: Column): boolean {
  for (const value of column) if (value !== null && !Number.isNaN(value)) return true;
  return false;
}

function cell(value: Column[number]): HTMLElement {
  if (typeof value === "number")
    return h("td", { class: "number" }, Number.isInteger(value) ? String(value) : number(value, 6));
  return h("td", {}, value === null ? "–" : String(value));
}

/** What is absent comes last, or first the other way round. */
function compare(a: Column[number], b: Column[number]): number {
  if (typeof a === "number" && typeof b === "number")
    return (Number.isNaN(a) ? Infinity : a) - (Number.isNaN(b) ? Infinity : b) || 0;
  return String(a ?? "").localeCompare(String(b ?? ""), "en", { numeric: true });
}
