import { server, type CellValue, type Grid, type GridCell } from "../data/source";
import { change, fetchRuns, notice, panel } from "../state/app";
import { theme } from "../state/theme";
import { loadColour, palette } from "../layers/palette";
import { h } from "./dom";
import { number } from "./format";

/** A sweep or a study as a table: two of its axes, one measure, a click opens the runs of a cell below. */
export function gridPanel(): HTMLElement {
  const box = h("section", { class: "grid-of-sweep", "aria-label": "Sweep as a grid", hidden: true });
  if (!server) return box;
  const which = h("select", { "aria-label": "Sweep" });
  const measure = h("select", { "aria-label": "Value in the cells" });
  const rows = h("select", { "aria-label": "Rows" });
  const columns = h("select", { "aria-label": "Columns" });
  const others = h("div", { class: "grid-others" });
  const scroll = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Cells of the sweep" });
  const rest = new Map<string, string>();
  let all: Grid[] = [];
  const grid = (): Grid | undefined => all.find((one) => one.name === which.value) ?? all[0];
  const draw = (): void => {
    const one = grid();
    if (!one) return;
    // With one axis, the table is a single row.
    if (rows.value === columns.value && one.axes.length > 1)
      columns.value = one.axes.find((axis) => axis !== rows.value)!;
    const free = one.axes.filter((axis) => axis !== rows.value && axis !== columns.value);
    others.replaceChildren(
      ...free.map((axis) => {
        const select = choice(`Value of ${axis}`, valuesOf(one, axis), rest.get(axis));
        rest.set(axis, select.value);
        select.addEventListener("change", () => {
          rest.set(axis, select.value);
          draw();
        });
        return h("label", {}, `${axis} `, select);
      }),
    );
    scroll.replaceChildren(
      tableOf(
        one,
        rows.value,
        columns.value,
        measure.value,
        free.map((axis) => [axis, rest.get(axis)!]),
      ),
    );
  };
  const offer = (): void => {
    const one = grid();
    if (!one) return;
    rest.clear();
    fill(
      measure,
      one.metrics.map(({ name }) => name),
      measure.value,
    );
    fill(rows, one.axes, rows.value);
    fill(columns, one.axes, one.axes[1]);
    draw();
  };
  which.addEventListener("change", offer);
  for (const select of [measure, rows, columns]) select.addEventListener("change", draw);
  theme.watch(draw);
  const load = (): void => {
    server!.grids().then(
      (found) => {
        all = found.filter(({ cells, axes }) => cells.length > 1 && axes.length > 0);
        box.hidden = all.length === 0;
        fill(
          which,
          all.map(({ name }) => name),
          which.value,
        );
        offer();
      },
      (error: unknown) => (notice.value = `The sweeps cannot be read: ${String(error)}`),
    );
  };
  panel.follow((name) => name === "compare" && load());
  const bar = h(
    "div",
    { class: "grid-bar" },
    h("label", {}, "Sweep ", which),
    h("label", {}, "Value ", measure),
    h("label", {}, "Rows ", rows),
    h("label", {}, "Columns ", columns),
    others,
  );
  box.append(h("h3", {}, "Sweeps and studies"), bar, scroll);
  return box;
}

function choice(name: string, values: readonly string[], chosen: string | undefined): HTMLSelectElement {
  const select = h("select", { "aria-label": name });
  fill(select, values, chosen);
  return select;
}

/** Offers values; the one that was chosen stays where it can. */
function fill(select: HTMLSelectElement, values: readonly string[], chosen: string | undefined): void {
  select.replaceChildren(...values.map((value) => h("option", { value }, value)));
  select.value = chosen !== undefined && values.includes(chosen) ? chosen : (values[0] ?? "");
}

function valuesOf(grid: Grid, axis: string): string[] {
  const place = grid.axes.indexOf(axis);
  return [...new Set(grid.cells.map(({ at }) => at[place]))];
}

function tableOf(grid: Grid, rows: string, columns: string, measure: string, fixed: [string, string][]): HTMLElement {
  const single = rows === columns;
  const unit = grid.metrics.find(({ name }) => name === measure)?.unit ?? "";
  const cellAt = (wanted: [string, string][]): GridCell | undefined =>
    grid.cells.find(({ at }) => wanted.every(([axis, value]) => at[grid.axes.indexOf(axis)] === value));
  const shown = grid.cells.filter(({ at }) => fixed.every(([axis, value]) => at[grid.axes.indexOf(axis)] === value));
  const means = shown.map(({ values }) => values[measure]?.mean ?? NaN).filter(Number.isFinite);
  const [least, most] = [Math.min(...means), Math.max(...means)];
  const { load } = palette();
  const td = (cell: GridCell | undefined): HTMLElement => {
    const value = cell?.values[measure];
    if (!cell || !value || value.mean === null) return h("td", { class: "number" }, `–${value ? lacking(value) : ""}`);
    const [red, green, blue] = loadColour(load, most > least ? (value.mean - least) / (most - least) : 0);
    const text = [h("b", {}, number(value.mean, 4)), h("small", {}, interval(value) + lacking(value))];
    const inside =
      cell.runs.length > 0
        ? h(
            "button",
            {
              type: "button",
              class: "link",
              title: "Compare the runs of this cell",
              onclick: () => void compare(cell),
            },
            ...text,
          )
        : h("span", {}, ...text);
    return h("td", { class: "number", style: `border-left: 6px solid rgb(${red} ${green} ${blue})` }, inside);
  };
  const across = single ? [] : valuesOf(grid, columns);
  const head = h(
    "tr",
    {},
    h("th", { scope: "col" }, single ? rows : `${rows} \\ ${columns}`),
    ...(single
      ? [h("th", { scope: "col", class: "number" }, measure)]
      : across.map((value) => h("th", { scope: "col", class: "number" }, value))),
  );
  const body = valuesOf(grid, rows).map((value) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, value),
      ...(single
        ? [td(cellAt([[rows, value], ...fixed]))]
        : across.map((other) => td(cellAt([[rows, value], [columns, other], ...fixed])))),
    ),
  );
  const means95 =
    "mean and half of the 95 % interval over the seeds; the edge has the colour of the mean, from the least to " +
    "the largest";
  return h(
    "table",
    {},
    h("caption", {}, `${measure}${unit ? `, ${unit}` : ""}: ${means95}`),
    h("thead", {}, head),
    h("tbody", {}, ...body),
  );
}

/** Intervals are symmetric (Student's t); a cell of one run, of equal runs, or of equal values, has none. */
function interval({ mean, low, high, equal }: CellValue): string {
  if (equal > 0) return ` at all ${equal} seeds`;
  return mean === null || low === null || high === null ? "" : ` ± ${number((high - low) / 2, 2)}`;
}

/** How many runs a mean is of, where others failed. */
function lacking({ runs, failed }: CellValue): string {
  return failed > 0 ? ` (${runs ?? 0} of ${(runs ?? 0) + failed} runs)` : "";
}

async function compare({ runs }: GridCell): Promise<void> {
  try {
    await fetchRuns(runs);
    change({ runs, seeds: runs.length > 1, base: "", zoom: null });
  } catch (error) {
    notice.value = `The runs of this cell cannot be opened: ${String(error)}`;
  }
}
