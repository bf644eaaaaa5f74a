import { clock, run } from "../state/app";
import { SPEEDS } from "../state/clock";
import { h, icon, ICONS } from "./dom";
import { moment } from "./format";

/** Play, speed, the slider of time with the run's handovers and losses marked on it. */
export function timeBar(): HTMLElement {
  const play = h("button", { type: "button", class: "play", onclick: () => clock.toggle() });
  clock.playing.follow((playing) => {
    play.replaceChildren(icon(playing ? ICONS.pause : ICONS.play));
    play.setAttribute("aria-label", playing ? "Pause" : "Play");
    play.title = playing ? "Pause (space)" : "Play (space)";
  });
  const slider = h("input", { type: "range", min: 0, max: 1000, step: "any", value: 0, "aria-label": "Time of the run" });
  slider.addEventListener("input", () => clock.seek(Number(slider.value)));
  const read = h("output", { class: "now" });
  const speed = h("select", { "aria-label": "Speed" }, ...SPEEDS.map((value) => h("option", { value }, `${value} ×`)));
  speed.value = String(clock.speed.value);
  speed.addEventListener("change", () => (clock.speed.value = Number(speed.value)));
  const marks = h("canvas", { class: "marks", "aria-hidden": "true" });
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
    const found = to > 0 ? [...times].find((t) => t > now + 1e-9) : [...times].reverse().find((t) => t < now - 1e-9);
    if (found !== undefined) clock.seek(found);
  };
  const previous = h("button", { type: "button", class: "quiet", title: "Path change before", "aria-label": "Path change before", onclick: () => step(-1) }, icon(ICONS.previous));
  const next = h("button", { type: "button", class: "quiet", title: "Next path change", "aria-label": "Next path change", onclick: () => step(1) }, icon(ICONS.next));
  const redraw = (): void => drawMarks(marks);
  run.follow(redraw);
  new ResizeObserver(redraw).observe(marks);
  return h("div", { class: "timebar" }, previous, play, next, h("div", { class: "track" }, marks, slider), read, speed);
}

function drawMarks(canvas: HTMLCanvasElement): void {
  const context = canvas.getContext("2d");
  const current = run.value;
  const { clientWidth: width, clientHeight: height } = canvas;
  if (!context || !current || width === 0 || current.duration <= 0) return;
  const ratio = window.devicePixelRatio;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  context.scale(ratio, ratio);
  const style = getComputedStyle(canvas);
  const tick = (times: ArrayLike<number>, colour: string, top: number, bottom: number, wide: number): void => {
    context.fillStyle = style.getPropertyValue(colour);
    for (let i = 0; i < times.length; i++) context.fillRect((times[i] / current.duration) * width - wide / 2, top, wide, bottom - top);
  };
  tick(current.tables.drops.time_s, "--drop", height - 5, height, 1.5);
  tick(current.tables.handovers.time_s, "--handover", 0, 6, 2);
}
