import { differences } from "../data/toml";
import { server, type Job, type Preset, type Verdict } from "../data/source";
import { clock, connection, jobs, openRun, overlays, panel, refreshRuns, toggleOverlay } from "../state/app";
import { SchemaCompletion } from "./completion";
import { h } from "./dom";
import { scenarioEditor, type Editing } from "./editor";
import { ScenarioForm } from "./form";
import { count } from "./format";
import { liveFigures } from "./live";

const KEPT = "skyhop.scenario";
const LAST = "skyhop.scenario.last";
const MOST_DIFFERENCES = 40;

/** An editor for scenarios, their problems as they are typed, and the runs that were started. */
export function tryPanel(): HTMLElement {
  const box = h("div", { class: "try" }, h("p", { class: "empty" }, "Opening the editor …"));
  if (server) {
    Promise.all([server.schema(), server.presets(), server.catalogues()]).then(
      ([schema, presets, catalogues]) => box.replaceChildren(...content(schema, presets, catalogues)),
      (error) => box.replaceChildren(h("p", { class: "empty" }, `The editor cannot be opened: ${String(error)}`)),
    );
  }
  return box;
}

function content(schema: unknown, presets: Preset[], catalogues: string[]): HTMLElement[] {
  const verdict = h("div", { class: "verdict-box", "aria-live": "polite" });
  const start = h("button", { type: "button", class: "primary", disabled: true }, "Run");
  const seed = h("input", { type: "number", min: 0, max: 4294967295, step: 1, value: 1, "aria-label": "Seed" });
  const problem = h("p", { class: "problem", role: "alert", hidden: true });
  const check = async (text: string): Promise<Verdict> => {
    try {
      return await server!.check(text);
    } catch (error) {
      return {
        ok: false,
        diagnostics: [],
        unchecked: `The server gives no answer, so the text is not checked (${String(error)}).`,
      };
    }
  };
  const judged = (found: Verdict): void => {
    start.disabled = !found.ok;
    verdict.replaceChildren(...verdictLines(found, editing));
  };
  const text = localStorage.getItem(KEPT) ?? presets[0]?.text ?? "";
  const completion = new SchemaCompletion(schema);
  const since = h("details", { class: "since", hidden: true });
  const editing: Editing = scenarioEditor(
    text,
    completion,
    check,
    (next) => {
      localStorage.setItem(KEPT, next);
      start.disabled = true;
      form.update(next);
      tellSince(since, next);
    },
    judged,
  );
  const form = new ScenarioForm(editing, completion, catalogues);
  form.update(text);
  tellSince(since, text);
  const preset = h(
    "select",
    { "aria-label": "Start from" },
    h("option", { value: "" }, "Start from …"),
    ...presets.map((one) => h("option", { value: one.name }, one.title)),
  );
  preset.addEventListener("change", () => {
    const found = presets.find((one) => one.name === preset.value);
    if (found) editing.replace(found.text);
    preset.value = "";
  });
  // What could not be checked while the connection was lost is checked when it is back.
  connection.watch((state) => state === "open" && editing.recheck());
  start.addEventListener("click", () => {
    problem.hidden = true;
    const sent = editing.text();
    server!.start(sent, Math.max(0, Math.floor(Number(seed.value) || 0))).then(
      (job) => {
        localStorage.setItem(LAST, sent);
        tellSince(since, editing.text());
        openWhenDone(job, over.checked);
      },
      (error: Error) => {
        problem.hidden = false;
        problem.textContent = error.message;
      },
    );
  });
  const list = jobList();
  const over = h("input", { type: "checkbox", checked: true });
  const overLabel = h(
    "label",
    { title: "Draws the run that was started before over the new one in the charts" },
    over,
    " over the last run",
  );
  const bar = h("div", { class: "try-bar" }, preset, h("label", {}, "Seed ", seed), overLabel, start);
  return [
    h("div", { class: "editor-side" }, h("h2", {}, "Try it"), bar, h("div", { class: "editor" }, editing.view.dom)),
    h("div", { class: "result-side" }, verdict, problem, since, list, form.element),
  ];
}

/** Says what differs from the scenario that was run last. */
function tellSince(box: HTMLDetailsElement, text: string): void {
  const last = localStorage.getItem(LAST);
  box.hidden = last === null || last === text;
  if (last === null || last === text) return;
  const all = differences(last, text);
  const few = all.slice(0, MOST_DIFFERENCES).map((one) => h("li", {}, h("code", {}, one)));
  const head =
    all.length === 0
      ? "Since the last run: no value has changed"
      : `Since the last run: ${count(all.length, "change")}`;
  box.replaceChildren(
    h("summary", {}, head),
    h(
      "ul",
      {},
      ...few,
      all.length > MOST_DIFFERENCES ? h("li", {}, `and ${all.length - MOST_DIFFERENCES} more`) : null,
    ),
  );
  box.open = all.length > 0 && all.length <= 6;
}

/** Runs that were started here and now, which are opened when they are done: whether over the one before. */
const started = new Map<string, boolean>();
/** The run that was started here before. */
let before: string | null = null;
jobs.watch((all) => all.forEach(showWhenDone));

/** Follows a run that the reader has just started. */
export function openWhenDone(job: Job, over = false): void {
  started.set(job.id, over);
  // It may have ended before the answer to its start came.
  const known = jobs.value.find((one) => one.id === job.id);
  if (known) showWhenDone(known);
  else jobs.value = [job, ...jobs.value];
}

function showWhenDone(job: Job): void {
  const over = started.get(job.id);
  if (job.state !== "done" || !job.run || over === undefined) return;
  started.delete(job.id);
  const id = job.run;
  const under = before;
  before = id;
  void refreshRuns().then(async () => {
    clock.seek(0);
    await openRun(id);
    if (over && under !== null && under !== id && !overlays.value.some((one) => one.id === under))
      await toggleOverlay(under);
    if (panel.value === "try") panel.value = "watch";
  });
}

function verdictLines(found: Verdict, editing: Editing): HTMLElement[] {
  if (found.unchecked) return [h("p", { class: "wrong" }, found.unchecked)];
  if (found.ok) return [h("p", { class: "right" }, `Correct: ${found.duration_s} s to simulate.`)];
  const lines = found.diagnostics.slice(0, 30).map((one) => {
    const place =
      one.line === null ? one.path : `line ${one.line}${one.column === null ? "" : `, column ${one.column}`}`;
    const show = (): void => {
      if (one.line === null) return;
      const line = editing.view.state.doc.line(Math.min(one.line, editing.view.state.doc.lines));
      editing.view.dispatch({
        selection: { anchor: Math.min(line.to, line.from + (one.column ?? 1) - 1) },
        scrollIntoView: true,
      });
      editing.view.focus();
    };
    return h(
      "li",
      {},
      h("button", { type: "button", class: "link", onclick: show }, place),
      " ",
      h("code", {}, one.path),
      h("p", {}, one.message),
      one.help ? h("p", { class: "help" }, one.help) : null,
    );
  });
  return [
    h("p", { class: "wrong" }, count(found.diagnostics.length, "problem")),
    h("ul", { class: "diagnostics" }, ...lines),
  ];
}

/** The runs that were started, the newest first. A row stays as long as its run's state: its buttons keep the focus. */
function jobList(): HTMLElement {
  const empty = h("p", { class: "empty" }, "What you run appears here.");
  const list = h("div", { class: "jobs" }, h("h3", {}, "Runs"), empty);
  const rows = new Map<string, { told: string; element: HTMLElement }>();
  const draw = (every: Job[]): void => {
    const all = every.filter((job) => job.packets === null);
    empty.hidden = all.length > 0;
    for (const job of [...all].reverse()) {
      const told = `${job.state} ${job.message} ${connection.value}`;
      const row = rows.get(job.id);
      if (row?.told === told) {
        showFraction(row.element, job);
        continue;
      }
      const element = jobRow(job);
      if (row) row.element.replaceWith(element);
      else list.querySelector("h3")?.after(element);
      rows.set(job.id, { told, element });
    }
  };
  jobs.follow(draw);
  connection.watch(() => draw(jobs.value));
  return list;
}

function showFraction(row: HTMLElement, job: Job): void {
  const bar = row.querySelector("progress");
  if (bar) bar.value = job.fraction;
  const state = row.querySelector(".state");
  if (state && job.state === "running") state.textContent = stateOf(job);
}

/** Long runs move in thousandths. */
function percent(job: Job): string {
  return `${(job.fraction * 100).toFixed(job.fraction > 0 && job.fraction < 0.1 ? 1 : 0)} %`;
}

/** What is left if the run goes on as fast as so far; nothing where too little of it is done to say. */
function timeLeft({ fraction, elapsed_s: elapsed }: Job): string {
  if (elapsed < 1 || fraction < 0.02) return "";
  const left = (elapsed * (1 - fraction)) / fraction;
  return left < 100 ? `, about ${Math.ceil(left)} s left` : `, about ${Math.ceil(left / 60)} min left`;
}

function stateOf(job: Job): string {
  const busy = job.state === "running" || job.state === "waiting";
  if (busy && connection.value === "lost") return "no connection to the server";
  return job.state === "running" ? percent(job) + timeLeft(job) : job.state;
}

function jobRow(job: Job): HTMLElement {
  const bar = h("progress", { max: 1, value: job.fraction, "aria-label": `Progress of ${job.title}` });
  const said = h("p", {}, job.message);
  const refused = (error: unknown): void => void (said.textContent = `It cannot be cancelled: ${String(error)}`);
  const cancel = h("button", { type: "button", onclick: () => void server!.cancel(job.id).catch(refused) }, "Cancel");
  const open = h(
    "button",
    {
      type: "button",
      onclick: () =>
        void (
          job.run &&
          refreshRuns()
            .then(() => openRun(job.run!))
            .then(() => (panel.value = "watch"))
        ),
    },
    "Open",
  );
  const busy = job.state === "running" || job.state === "waiting";
  return h(
    "div",
    { class: `job ${job.state}`, "data-job": job.id },
    h(
      "header",
      {},
      h("b", {}, job.title),
      h("span", { class: "state" }, stateOf(job)),
      busy ? cancel : job.state === "done" ? open : null,
    ),
    busy ? bar : null,
    busy ? liveFigures(job.id) : null,
    said,
  );
}
