import { server, type Job, type Preset, type Verdict } from "../data/source";
import { clock, connection, jobs, openRun, panel, refreshRuns } from "../state/app";
import { h } from "./dom";
import { scenarioEditor, type Editing } from "./editor";
import { count } from "./format";
import { liveFigures } from "./live";

const KEPT = "skyhop.scenario";

/** An editor for scenarios, their problems as they are typed, and the runs that were started. */
export function tryPanel(): HTMLElement {
  const box = h("div", { class: "try" }, h("p", { class: "empty" }, "Opening the editor …"));
  if (server) {
    Promise.all([server.schema(), server.presets()]).then(
      ([schema, presets]) => box.replaceChildren(...content(schema, presets)),
      (error) => box.replaceChildren(h("p", { class: "empty" }, `The editor cannot be opened: ${String(error)}`)),
    );
  }
  return box;
}

function content(schema: unknown, presets: Preset[]): HTMLElement[] {
  const verdict = h("div", { class: "verdict-box", "aria-live": "polite" });
  const start = h("button", { type: "button", class: "primary", disabled: true }, "Run");
  const seed = h("input", { type: "number", min: 0, max: 4294967295, step: 1, value: 1, "aria-label": "Seed" });
  const problem = h("p", { class: "problem", role: "alert", hidden: true });
  const check = async (text: string): Promise<Verdict> => {
    try {
      return await server!.check(text);
    } catch (error) {
      return { ok: false, diagnostics: [], unchecked: `The server gives no answer, so the text is not checked (${String(error)}).` };
    }
  };
  const judged = (found: Verdict): void => {
    start.disabled = !found.ok;
    verdict.replaceChildren(...verdictLines(found, editing));
  };
  const text = localStorage.getItem(KEPT) ?? presets[0]?.text ?? "";
  const editing: Editing = scenarioEditor(text, schema, check, (next) => {
    localStorage.setItem(KEPT, next);
    start.disabled = true;
  }, judged);
  const preset = h("select", { "aria-label": "Start from" }, h("option", { value: "" }, "Start from …"), ...presets.map((one) => h("option", { value: one.name }, one.title)));
  preset.addEventListener("change", () => {
    const found = presets.find((one) => one.name === preset.value);
    if (found) editing.replace(found.text);
    preset.value = "";
  });
  // What could not be checked while the connection was lost is checked when it is back.
  connection.watch((state) => state === "open" && editing.recheck());
  start.addEventListener("click", () => {
    problem.hidden = true;
    server!.start(editing.text(), Math.max(0, Math.floor(Number(seed.value) || 0))).then(
      openWhenDone,
      (error: Error) => {
        problem.hidden = false;
        problem.textContent = error.message;
      },
    );
  });
  const list = jobList();
  const bar = h("div", { class: "try-bar" }, preset, h("label", {}, "Seed ", seed), start);
  return [
    h("div", { class: "editor-side" }, h("h2", {}, "Try it"), bar, h("div", { class: "editor" }, editing.view.dom)),
    h("div", { class: "result-side" }, verdict, problem, list),
  ];
}

/** Runs that were started here and now, which are opened when they are done. */
const started = new Set<string>();
jobs.watch((all) => all.forEach(showWhenDone));

/** Follows a run that the reader has just started. */
export function openWhenDone(job: Job): void {
  started.add(job.id);
  // It may have ended before the answer to its start came.
  const known = jobs.value.find((one) => one.id === job.id);
  if (known) showWhenDone(known);
  else jobs.value = [job, ...jobs.value];
}

function showWhenDone(job: Job): void {
  if (job.state !== "done" || !job.run || !started.delete(job.id)) return;
  const id = job.run;
  void refreshRuns().then(async () => {
    clock.seek(0);
    await openRun(id);
    if (panel.value === "try") panel.value = "watch";
  });
}

function verdictLines(found: Verdict, editing: Editing): HTMLElement[] {
  if (found.unchecked) return [h("p", { class: "wrong" }, found.unchecked)];
  if (found.ok) return [h("p", { class: "right" }, `Correct: ${found.duration_s} s to simulate.`)];
  const lines = found.diagnostics.slice(0, 30).map((one) => {
    const place = one.line === null ? one.path : `line ${one.line}${one.column === null ? "" : `, column ${one.column}`}`;
    const show = (): void => {
      if (one.line === null) return;
      const line = editing.view.state.doc.line(Math.min(one.line, editing.view.state.doc.lines));
      editing.view.dispatch({ selection: { anchor: Math.min(line.to, line.from + (one.column ?? 1) - 1) }, scrollIntoView: true });
      editing.view.focus();
    };
    return h("li", {}, h("button", { type: "button", class: "link", onclick: show }, place), " ", h("code", {}, one.path), h("p", {}, one.message), one.help ? h("p", { class: "help" }, one.help) : null);
  });
  return [h("p", { class: "wrong" }, count(found.diagnostics.length, "problem")), h("ul", { class: "diagnostics" }, ...lines)];
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

function stateOf(job: Job): string {
  const busy = job.state === "running" || job.state === "waiting";
  if (busy && connection.value === "lost") return "no connection to the server";
  return job.state === "running" ? percent(job) : job.state;
}

function jobRow(job: Job): HTMLElement {
  const bar = h("progress", { max: 1, value: job.fraction, "aria-label": `Progress of ${job.title}` });
  const said = h("p", {}, job.message);
  const refused = (error: unknown): void => void (said.textContent = `It cannot be cancelled: ${String(error)}`);
  const cancel = h("button", { type: "button", onclick: () => void server!.cancel(job.id).catch(refused) }, "Cancel");
  const open = h("button", { type: "button", onclick: () => void (job.run && refreshRuns().then(() => openRun(job.run!)).then(() => (panel.value = "watch"))) }, "Open");
  const busy = job.state === "running" || job.state === "waiting";
  return h("div", { class: `job ${job.state}`, "data-job": job.id },
    h("header", {}, h("b", {}, job.title), h("span", { class: "state" }, stateOf(job)), busy ? cancel : job.state === "done" ? open : null),
    busy ? bar : null,
    busy ? liveFigures(job.id) : null,
    said);
}
