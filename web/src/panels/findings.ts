import { momentOf, type Finding } from "../data/findings";
import { storyOf, type Story } from "../data/story";
import type { Run } from "../data/run";
import { run, sequenceShown } from "../state/app";
import { closeFinding, findings, openFinding, openFindingAt } from "../state/findings";
import { h, icon, ICONS } from "./dom";
import { moment } from "./format";
import { prefetchPackets } from "./sequence";

const FIRST = 12; // findings told before the reader asks for more
const MOST = 500;

/** What went wrong in the run, the dearest first, and the one that is open in full. */
export function findingsPanel(): HTMLElement {
  const list = h("ol", { class: "finding-list" });
  const story = h("article", { class: "story", "aria-live": "polite", hidden: true });
  const told = h("h3", {}, "What went wrong");
  const more = h("button", { type: "button", class: "link", hidden: true }, "More");
  let shown = FIRST;
  const draw = (): void => {
    const [current, known] = [run.value, findings.value];
    const all = known ?? [];
    more.hidden = all.length <= shown;
    more.textContent = `${Math.min(all.length, MOST) - shown} more`;
    told.textContent = heading(current, known);
    list.replaceChildren(...(current ? all.slice(0, shown).map((one) => item(current, one)) : []));
    mark();
  };
  const mark = (): void => {
    const open = openFinding.value;
    for (const button of list.querySelectorAll("button"))
      button.setAttribute("aria-current", button.dataset["finding"] === open?.id ? "true" : "false");
    story.hidden = !open || !run.value;
    story.replaceChildren(...(open && run.value ? tell(run.value, open) : []));
    // The story stands below its line of the list; above the list where that has not been told yet.
    const line = list.querySelector("[aria-current=true]");
    if (line) line.after(story);
    else list.before(story);
  };
  more.addEventListener("click", () => {
    shown = MOST;
    draw();
  });
  run.watch(() => (shown = FIRST));
  findings.follow(draw);
  openFinding.watch(mark);
  return h(
    "section",
    { class: "findings", "aria-label": "Findings" },
    told,
    h("div", { class: "finding-scroll" }, story, list, more),
  );
}

function heading(current: Run | null, known: readonly Finding[] | null): string {
  if (!current) return "";
  if (known === null) return "Looking at what went wrong …";
  if (!current.hasSeries) return "Nothing can be said: the run recorded no time series";
  return known.length === 0
    ? "Nothing went wrong: no flow stalled, repaired a loss, or fell below half of its rate or of its share"
    : "What went wrong, the dearest first";
}

function item(current: Run, finding: Finding): HTMLElement {
  const { what, why, price } = storyOf(current, finding, current.happenings);
  const head = h("b", {}, `${finding.flow} · ${moment(momentOf(finding))}`);
  const text = [what, why].filter((part) => part !== "").join(" · ");
  return h(
    "li",
    {},
    h(
      "button",
      {
        type: "button",
        class: `finding ${finding.kind}`,
        "data-finding": finding.id,
        onclick: () => {
          openFindingAt(finding);
          prefetchPackets(current, finding.flow);
        },
      },
      head,
      h("span", {}, text),
      h("span", { class: "price" }, price),
    ),
  );
}

function tell(current: Run, finding: Finding): HTMLElement[] {
  const story = storyOf(current, finding, current.happenings);
  const close = h(
    "button",
    { type: "button", class: "quiet", "aria-label": "Close", onclick: closeFinding },
    icon(ICONS.close),
  );
  const lines: [string, string][] = [
    ["Cause", story.cause],
    ["Effect", story.effect],
    ["Cost", story.cost],
  ];
  return [
    close,
    h("h3", { class: "unseen" }, `${finding.flow} ${story.what} at ${moment(momentOf(finding))}`),
    h("dl", { class: "cause-chain" }, ...lines.flatMap(([name, text]) => [h("dt", {}, name), h("dd", {}, text)])),
    h(
      "button",
      {
        type: "button",
        class: "link packets-of",
        onclick: () => {
          openFindingAt(finding);
          sequenceShown.value = true;
        },
      },
      "Its packets",
    ),
    ...(story.timer ? [h("p", { class: "timer" }, story.timer)] : []),
    ...(story.events.length > 0 ? [eventList(story)] : []),
  ];
}

function eventList({ events }: Story): HTMLElement {
  const most = 60;
  const steps = events
    .slice(0, most)
    .map((one) => h("li", { class: one.kind }, h("b", {}, moment(one.begin)), h("span", {}, one.text)));
  const rest = events.length > most ? [h("li", {}, h("span", {}, `and ${events.length - most} more`))] : [];
  return h("details", {}, h("summary", {}, "Event by event"), h("ol", { class: "chain" }, ...steps, ...rest));
}
