import { loadRun, type Run } from "../data/run";
import type { RunEntry } from "../data/source";
import { change, comparison, entries, notice } from "../state/app";
import { theme } from "../state/theme";
import {
  EVERY,
  figureOf,
  groupsOf,
  MEASURES,
  OVER_FLOWS,
  OVER_TIME,
  OVER_TRANSFERS,
  TOTALS,
  type Drawn,
  type Group,
} from "./comparing";
import { h, icon, ICONS } from "./dom";
import { barFigure, curveFigure, curveScale, type FigureLook } from "./figure";
import { FigureView } from "./figureview";
import { gridPanel } from "./grid";
import { pageLook } from "./look";

const FIRST_RUNS = 6; // compared before the reader chooses

/** Ids of the runs that are compared: those chosen, else those of one study, which are there to be compared. */
function chosen(): readonly string[] {
  if (comparison.value.runs) return comparison.value.runs;
  const all = entries.value;
  const study = all.find((entry) => entry.study)?.study ?? null;
  return all
    .filter((entry) => study === null || entry.study === study)
    .slice(0, FIRST_RUNS)
    .map((entry) => entry.id);
}

/** Chosen runs, one chosen measure, one figure to take away. */
export function comparePanel(): HTMLElement {
  const runs = h("fieldset", {}, h("legend", {}, "Runs"));
  const choices = new Choices();
  const figure = h("div", { class: "figure" });
  const view = new FigureView((zoom) => change({ zoom }));
  let drawn: Drawn | null = null;
  let made = "";
  let latest = 0;
  const save = (kind: "svg" | "png" | "csv"): void => void (drawn && download(drawn, kind));
  const downloads = (["svg", "png", "csv"] as const).map((kind) =>
    h("button", { type: "button", onclick: () => save(kind) }, icon(ICONS.download), kind.toUpperCase()),
  );
  /** Draws what was made before, in another size, window or theme. */
  const paint = (): void => {
    if (!drawn || figure.clientWidth === 0) return;
    const look = pageLook(sizeIn(figure.clientWidth));
    if (drawn.bars) {
      view.element.remove();
      figure.querySelector(":scope > .figure-picture")?.remove();
      const picture = h("div", { class: "figure-picture" });
      picture.innerHTML = barFigure(drawn.bars, look);
      figure.prepend(picture);
      return;
    }
    const whole = curveScale(drawn.curves!(null), look).x;
    const { zoom } = comparison.value;
    // The view keeps its place in the page, and with it the focus and a pointer that is pressed.
    if (view.element.parentElement !== figure) figure.prepend(view.element);
    view.show(drawn.curves!(zoom && zoom[0] < whole[1] && zoom[1] > whole[0] ? zoom : null), whole, look);
  };
  const draw = async (): Promise<void> => {
    const mine = ++latest;
    const wanted = entries.value.filter((entry) => chosen().includes(entry.id));
    downloads.forEach((button) => (button.disabled = wanted.length === 0));
    if (wanted.length === 0) {
      [drawn, made] = [null, ""];
      figure.replaceChildren(
        h(
          "p",
          { class: "empty" },
          entries.value.length > 0 ? "Choose the runs to compare." : "There is no run to compare yet.",
        ),
      );
      return;
    }
    try {
      const loaded = await Promise.all(wanted.map(loadRun));
      // The reader may have chosen others meanwhile.
      if (mine !== latest) return;
      const { groups, base, measure, flow } = choices.offer(loaded);
      const now = JSON.stringify([
        wanted.map(({ id, records_hash }) => [id, records_hash]),
        measure,
        flow,
        comparison.value.seeds,
        base?.runs[0].id,
      ]);
      if (now !== made) {
        drawn = figureOf(groups, base, measure, flow);
        made = now;
        const gone = chosen().filter((id) => !entries.value.some((entry) => entry.id === id));
        const notes = [
          ...drawn.notes,
          lengths(loaded),
          gone.length > 0 ? `Not here any more: ${gone.join(", ")}.` : "",
        ];
        figure.replaceChildren(...notes.filter((note) => note !== "").map((note) => h("p", { class: "note" }, note)));
      }
      paint();
    } catch (error) {
      notice.value = `The runs cannot be compared: ${String(error)}`;
    }
  };
  const listRuns = (): void => {
    runs.replaceChildren(h("legend", {}, "Runs"), ...entries.value.map(runBox));
  };
  entries.follow(() => {
    listRuns();
    void draw();
  });
  comparison.watch(() => {
    for (const box of runs.querySelectorAll("input")) box.checked = chosen().includes(box.value);
    void draw();
  });
  theme.watch(paint);
  let width = 0;
  new ResizeObserver(() => {
    if (figure.clientWidth === width) return;
    width = figure.clientWidth;
    paint();
  }).observe(figure);
  const side = h("div", { class: "choices" }, ...choices.elements, runs);
  return h(
    "div",
    { class: "compare" },
    h("h2", {}, "Compare runs"),
    gridPanel(),
    side,
    h("div", { class: "result" }, figure, h("div", { class: "downloads" }, ...downloads)),
  );
}

/** What the reader chooses beside the runs. */
class Choices {
  private readonly measure = measureChoice();
  private readonly flow = h("select", { id: "flow", "aria-label": "Flow" });
  private readonly base = h("select", { id: "baseline", "aria-label": "Difference to" });
  private readonly seeds = h("input", { type: "checkbox" });
  private readonly flowLabel = h("label", {}, "Flow ", this.flow);
  private readonly baseLabel = h("label", {}, "Difference to ", this.base);
  private readonly seedsLabel = h("label", { class: "check" }, this.seeds, "Seeds of one scenario together");
  readonly elements = [h("label", {}, "Measure ", this.measure), this.flowLabel, this.baseLabel, this.seedsLabel];

  constructor() {
    this.measure.addEventListener("change", () => change({ measure: this.measure.value, zoom: null }));
    this.flow.addEventListener("change", () => change({ flow: this.flow.value }));
    this.base.addEventListener("change", () => change({ base: this.base.value }));
    this.seeds.addEventListener("change", () => change({ seeds: this.seeds.checked }));
  }

  /** Offers what these runs allow; what was chosen stays chosen where it can. */
  offer(runs: Run[]): { groups: Group[]; base: Group | null; measure: string; flow: string } {
    const { seeds, base: asked, measure, flow } = comparison.value;
    this.measure.value = MEASURES.includes(measure) ? measure : MEASURES[0];
    const [kind] = this.measure.value.split(" ");
    offerFlows(this.flow, runs, flow);
    this.flowLabel.hidden = kind !== "time" && kind !== "steps";
    const groups = groupsOf(runs, seeds);
    this.seeds.checked = seeds;
    this.seedsLabel.hidden = !seeds && groupsOf(runs, true).length === groups.length;
    // Distributions stand beside one another; only values have a difference.
    const allowed = (kind === "total" || kind === "time") && groups.length > 1;
    const base = allowed ? (groups.find((group) => group.runs.some((one) => one.id === asked)) ?? null) : null;
    this.baseLabel.hidden = !allowed;
    this.base.replaceChildren(
      h("option", { value: "" }, "nothing: show the values"),
      ...groups.map(({ name, runs: own }) => h("option", { value: own[0].id }, name)),
    );
    this.base.value = base?.runs[0].id ?? "";
    return { groups, base, measure: this.measure.value, flow: this.flow.value };
  }
}

function measureChoice(): HTMLSelectElement {
  const options = (kind: string, all: readonly { title: string }[], after = ""): HTMLElement[] =>
    all.map((one, i) => h("option", { value: `${kind} ${i}` }, one.title + after));
  return h(
    "select",
    { id: "measure", "aria-label": "Measure" },
    h("optgroup", { label: "One number per flow" }, ...options("total", TOTALS)),
    h("optgroup", { label: "Over time" }, ...options("time", OVER_TIME, " over time")),
    h("optgroup", { label: "Distribution over the steps" }, ...options("steps", OVER_TIME, ": distribution")),
    h("optgroup", { label: "Distribution over the flows" }, ...options("flows", OVER_FLOWS, ": distribution")),
    h(
      "optgroup",
      { label: "Distribution over the transfers of workloads" },
      ...options("transfers", OVER_TRANSFERS, ": distribution"),
    ),
  );
}

function runBox(entry: RunEntry): HTMLElement {
  const box = h("input", { type: "checkbox", value: entry.id, checked: chosen().includes(entry.id) });
  box.addEventListener("change", () => {
    const without = chosen().filter((id) => id !== entry.id);
    comparison.value = { ...comparison.value, runs: box.checked ? [...without, entry.id] : without };
  });
  return h("label", {}, box, h("span", {}, entry.title, h("small", {}, entry.study ?? "")));
}

/** Offers the runs' flows and, at the end, all of them at once; what was chosen stays chosen where it can. */
function offerFlows(select: HTMLSelectElement, runs: Run[], before: string): void {
  const names = [...new Set(runs.flatMap((one) => one.flows))];
  select.replaceChildren(
    ...names.map((name) => h("option", { value: name }, name)),
    h("option", { value: EVERY }, "every flow"),
  );
  select.value = names.includes(before) || before === EVERY ? before : (names[0] ?? EVERY);
}

/** What must be known of runs that differ in length; empty where they do not. */
function lengths(runs: Run[]): string {
  const all = runs.map((one) => one.duration);
  const [least, most] = [Math.min(...all), Math.max(...all)];
  return most > least * 1.001
    ? `These runs differ in length, from ${Number(least.toPrecision(6))} s to ${Number(most.toPrecision(6))} s: ` +
        `sums are over the whole of each run, rates over the time from its first flow's start to its last flow's ` +
        `stop, and curves end where their run ends.`
    : "";
}

/** As large as the panel: one unit of the figure is one pixel. */
function sizeIn(width: number): { width: number; height: number } {
  const wide = Math.max(340, width - 20);
  return { width: wide, height: Math.round(Math.max(360, Math.min(0.66 * window.innerHeight, 0.6 * wide))) };
}

/** White paper, whatever the page looks like. */
const PRINT: FigureLook = {
  width: 760,
  height: 400,
  paper: "#ffffff",
  ink: "#1b1b1b",
  muted: "#6a6a6a",
  rule: "#dddddd",
  series: ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"],
};

async function download(drawn: Drawn, kind: "svg" | "png" | "csv"): Promise<void> {
  const text =
    kind === "csv"
      ? drawn.csv()
      : drawn.bars
        ? barFigure(drawn.bars, PRINT)
        : curveFigure(drawn.curves!(comparison.value.zoom), PRINT);
  const blob =
    kind === "png" ? await raster(text) : new Blob([text], { type: kind === "csv" ? "text/csv" : "image/svg+xml" });
  const address = URL.createObjectURL(blob);
  h("a", { href: address, download: `${drawn.name}.${kind}` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

async function raster(text: string): Promise<Blob> {
  const image = new Image(1520, 800);
  image.src = `data:image/svg+xml,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = h("canvas", { width: 1520, height: 800 });
  canvas.getContext("2d")?.drawImage(image, 0, 0, 1520, 800);
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("no picture"))), "image/png"),
  );
}
