import { clock, range, run, windowShown, zoomTo } from "../state/app";
import { SPEEDS } from "../state/clock";
import { findings, openFinding } from "../state/findings";
import { theme } from "../state/theme";
import { density } from "./chart";
import { h, icon, ICONS } from "./dom";
import { moment } from "./format";

const MOST_BANDS = 200; // findings drawn on the bar

/** Play, speed, and the whole run as a map: findings, handovers, losses, and the window that the charts show. */
export function timeBar(): HTMLElement {
  const play = h("button", { type: "button", class: "play", onclick: () => clock.toggle() });
  clock.playing.follow((playing) => {
    play.replaceChildren(icon(playing ? ICONS.pause : ICONS.play));
    play.setAttribute("aria-label", playing ? "Pause" : "Play");
    play.title = playing ? "Pause (space)" : "Play (space)";
  });
  const slider = h("input", {
    type: "range",
    min: 0,
    max: 1000,
    step: "any",
    value: 0,
    "aria-label": "Time of the run",
  });
  slider.addEventListener("input", () => clock.seek(Number(slider.value)));
  const read = h("output", { class: "now" });
  const speed = h("select", { "aria-label": "Speed" }, ...SPEEDS.map((value) => h("option", { value }, `${value} ×`)));
  speed.value = String(clock.speed.value);
  speed.addEventListener("change", () => (clock.speed.value = Number(speed.value)));
  const marks = h("canvas", { class: "marks", "aria-hidden": "true" });
  const whole = h(
    "button",
    {
      type: "button",
      class: "whole",
      title: "Show the whole run in the charts (0)",
      onclick: () => (range.value = null),
    },
    "Whole run",
  );
  const track = h("div", { class: "track" }, marks, slider, windowMark());
  const showTime = (): void => {
    const time = clock.time.value;
    slider.value = String(time);
    slider.setAttribute("aria-valuetext", moment(time));
    read.textContent = `${moment(time)} / ${moment(clock.end.value)}`;
    slider.style.setProperty("--share", String(clock.end.value > 0 ? time / clock.end.value : 0));
  };
  clock.end.follow((end) => {
    slider.max = String(end);
    showTime();
  });
  clock.time.watch(showTime);
  const step = (to: -1 | 1): void => {
    const times = run.value?.tables.paths.time_s ?? [];
    const now = clock.time.value;
    const found = to > 0 ? times.find((t) => t > now + 1e-9) : [...times].reverse().find((t) => t < now - 1e-9);
    if (found !== undefined) clock.seek(found);
  };
  const previous = h(
    "button",
    {
      type: "button",
      class: "quiet",
      title: "Path change before",
      "aria-label": "Path change before",
      onclick: () => step(-1),
    },
    icon(ICONS.previous),
  );
  const next = h(
    "button",
    {
      type: "button",
      class: "quiet",
      title: "Next path change",
      "aria-label": "Next path change",
      onclick: () => step(1),
    },
    icon(ICONS.next),
  );
  range.follow((value) => (whole.hidden = value === null));
  let wanted = false;
  const redraw = (): void => {
    if (wanted) return;
    wanted = true;
    requestAnimationFrame(() => {
      wanted = false;
      drawMarks(marks);
    });
  };
  for (const signal of [run, findings, openFinding, theme] as const) signal.watch(redraw as () => void);
  new ResizeObserver(redraw).observe(marks);
  return h("div", { class: "timebar" }, previous, play, next, track, read, whole, speed);
}

const KEY_SHARE = 0.1; // of the part that is shown: what an arrow key moves it by

/** The part of the run that the charts show: dragging it moves it, its edges make it longer or shorter. */
function windowMark(): HTMLElement {
  const from = h("i", { class: "edge" });
  const to = h("i", { class: "edge" });
  const mark = h(
    "div",
    {
      class: "window",
      hidden: true,
      tabindex: 0,
      role: "slider",
      "aria-label": "Part of the run in the charts. Arrow keys move it, with Shift its end.",
      "aria-valuemin": 0,
    },
    from,
    to,
  );
  range.follow((value) => {
    mark.hidden = value === null;
    if (!value || clock.end.value <= 0) return;
    mark.style.left = `${(value[0] / clock.end.value) * 100}%`;
    mark.style.width = `${((value[1] - value[0]) / clock.end.value) * 100}%`;
    mark.setAttribute("aria-valuemax", String(clock.end.value));
    mark.setAttribute("aria-valuenow", value[0].toFixed(3));
    mark.setAttribute("aria-valuetext", `${moment(value[0])} to ${moment(value[1])}`);
  });
  mark.addEventListener("keydown", (event) => {
    const turn = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
    if (turn === undefined) return;
    event.preventDefault();
    const [begin, end] = windowShown();
    const by = turn * KEY_SHARE * (end - begin);
    if (event.shiftKey) zoomTo(begin, end + by);
    else zoomTo(begin + by, end + by);
  });
  let pressed: { x: number; begin: number; end: number; part: Element } | null = null;
  mark.addEventListener("pointerdown", (event) => {
    const [begin, end] = windowShown();
    pressed = { x: event.clientX, begin, end, part: event.target as Element };
    mark.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  mark.addEventListener("pointermove", (event) => {
    if (!pressed) return;
    const by = ((event.clientX - pressed.x) / (mark.parentElement?.clientWidth ?? 1)) * clock.end.value;
    const { begin, end, part } = pressed;
    if (part === from) zoomTo(Math.min(begin + by, end), end);
    else if (part === to) zoomTo(begin, Math.max(begin, end + by));
    else {
      const start = Math.min(Math.max(0, begin + by), clock.end.value - (end - begin));
      zoomTo(start, start + end - begin);
    }
  });
  for (const kind of ["pointerup", "pointercancel"] as const) mark.addEventListener(kind, () => (pressed = null));
  return h("div", { class: "window-track" }, mark);
}

function drawMarks(canvas: HTMLCanvasElement): void {
  const context = canvas.getContext("2d");
  const current = run.value;
  const { clientWidth: width, clientHeight: height } = canvas;
  if (!context || width === 0) return;
  const ratio = window.devicePixelRatio;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  if (!current || current.duration <= 0) return;
  context.scale(ratio, ratio);
  const style = getComputedStyle(canvas);
  const x = (time: number): number => (time / current.duration) * width;
  context.fillStyle = style.getPropertyValue("--drop");
  for (const one of (findings.value ?? []).slice(0, MOST_BANDS)) {
    context.globalAlpha = one === openFinding.value ? 0.6 : 0.16;
    context.fillRect(x(one.begin), 6, Math.max(1.5, x(one.until) - x(one.begin)), height - 11);
  }
  context.globalAlpha = 1;
  for (const [column, packets] of density(current.tables.drops.time_s, 0, current.duration, Math.floor(width))) {
    const high = Math.min(height / 2, 4 + 2 * Math.log2(packets));
    context.fillRect(column, height - high, 1.5, high);
  }
  context.fillStyle = style.getPropertyValue("--handover");
  for (const time of current.tables.handovers.time_s) context.fillRect(x(time) - 1, 0, 2, 6);
}
