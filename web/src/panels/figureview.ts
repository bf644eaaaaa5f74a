import { h } from "./dom";
import { curveFigure, curveScale, type Curve, type Curves, type FigureLook } from "./figure";
import { number } from "./format";

const WHEEL = 0.0016; // share of zoom per pixel of the wheel
const KEY_SHARE = 0.02; // of the window: what an arrow key moves the cursor by
const DRAG = 4; // pixels: what moves less is a click
const LEAST_SHARE = 1e-5; // of the whole axis: no window is narrower

type Window = readonly [number, number];

/**
 * A figure of curves with a cursor that reads their values; the wheel, dragging and keys choose a part of the x axis.
 */
export class FigureView {
  readonly element = h("div", { class: "figure-view", tabindex: 0, role: "group", "aria-roledescription": "chart" });
  private readonly line = h("i", { class: "figure-cursor", hidden: true });
  private readonly read = h("p", { class: "figure-read" });
  private readonly picture = h("div", { class: "figure-picture" });
  private figure: Curves | null = null;
  private look: FigureLook | null = null;
  private whole: Window = [0, 1];
  private at: number | null = null;

  constructor(private readonly choose: (window: Window | null) => void) {
    this.picture.append(this.line);
    this.element.append(this.picture, this.read);
    this.listen();
  }

  /** Draws a figure, or the part of it that its window says; `whole` are the ends of all its curves. */
  show(figure: Curves, whole: Window, look: FigureLook): void {
    [this.figure, this.look, this.whole] = [figure, look, whole];
    this.picture.innerHTML = curveFigure(figure, look);
    this.picture.append(this.line);
    this.tell();
  }

  private get window(): Window {
    return this.figure?.window ?? this.whole;
  }

  /** The value of x under a pixel of the window, and back. */
  private valueAt(pixel: number): number {
    const { left, right } = this.bounds();
    const [from, to] = this.window;
    return from + Math.min(1, Math.max(0, (pixel - left) / (right - left))) * (to - from);
  }

  private bounds(): { left: number; right: number } {
    const box = this.picture.querySelector("svg")!.getBoundingClientRect();
    const { area } = curveScale(this.figure!, this.look!);
    const scale = box.width / this.look!.width;
    return { left: box.left + area.left * scale, right: box.left + area.right * scale };
  }

  private zoom(from: number, to: number): void {
    const [least, most] = this.whole;
    const length = Math.max((most - least) * LEAST_SHARE, to - from);
    if (length >= (most - least) * 0.9995) return this.choose(null);
    const begin = Math.min(Math.max(least, from), most - length);
    this.choose([begin, begin + length]);
  }

  private zoomAt(at: number, factor: number): void {
    const [from, to] = this.window;
    this.zoom(at - (at - from) * factor, at + (to - at) * factor);
  }

  private listen(): void {
    const { picture } = this;
    let pressed: { x: number; from: number; to: number } | null = null;
    picture.addEventListener("pointermove", (event) => {
      if (!this.figure) return;
      if (pressed && Math.abs(event.clientX - pressed.x) > DRAG) {
        const { left, right } = this.bounds();
        const by = ((event.clientX - pressed.x) / (right - left)) * (pressed.to - pressed.from);
        const [least, most] = this.whole;
        const shift = Math.min(pressed.from - least, Math.max(by, pressed.to - most));
        if (this.figure.window) this.choose([pressed.from - shift, pressed.to - shift]);
      } else if (!pressed) {
        this.at = this.valueAt(event.clientX);
        this.tell();
      }
    });
    picture.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || !this.figure) return;
      const [from, to] = this.window;
      pressed = { x: event.clientX, from, to };
      picture.setPointerCapture(event.pointerId);
    });
    for (const kind of ["pointerup", "pointercancel"] as const) picture.addEventListener(kind, () => (pressed = null));
    picture.addEventListener(
      "wheel",
      (event) => {
        if (!this.figure) return;
        event.preventDefault();
        this.zoomAt(
          this.valueAt(event.clientX),
          Math.exp(event.deltaY * WHEEL * (event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1)),
        );
      },
      { passive: false },
    );
    picture.addEventListener("dblclick", () => this.choose(null));
    this.element.addEventListener("keydown", (event) => this.key(event));
  }

  private key(event: KeyboardEvent): void {
    if (!this.figure) return;
    const [from, to] = this.window;
    const at = Math.min(to, Math.max(from, this.at ?? (from + to) / 2));
    const step = (to - from) * KEY_SHARE * (event.shiftKey ? 0.1 : 1);
    const move = (to_: number): void => {
      this.at = Math.min(to, Math.max(from, to_));
      this.tell();
    };
    const keys: Record<string, () => void> = {
      ArrowLeft: () => move(at - step),
      ArrowRight: () => move(at + step),
      Home: () => move(from),
      End: () => move(to),
      "+": () => this.zoomAt(at, 0.6),
      "=": () => this.zoomAt(at, 0.6),
      "-": () => this.zoomAt(at, 1 / 0.6),
      "0": () => this.choose(null),
    };
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  /** The cursor and the values of all curves there. */
  private tell(): void {
    const { figure, look, at } = this;
    if (!figure || !look) return;
    const [from, to] = this.window;
    const seen = at !== null && at >= from && at <= to;
    this.line.hidden = !seen;
    if (!seen) {
      this.read.textContent = "";
      this.element.setAttribute(
        "aria-label",
        `${figure.title}. Arrow keys move a cursor that reads the curves, plus and minus zoom, 0 shows all.`,
      );
      return;
    }
    const { left, right } = this.bounds();
    const begin = left - this.picture.getBoundingClientRect().left;
    this.line.style.left = `${begin + ((at - from) / (to - from)) * (right - left)}px`;
    const values = figure.curves.map((curve) => {
      const { value, half } = readAt(curve, at);
      return `${curve.name}: ${number(value, 4)}${half !== null ? ` ± ${number(half, 2)}` : ""}`;
    });
    const where = `${figure.xUnit === "Time (s)" ? `${number(at, 5)} s` : `${number(at, 4)} ${figure.xUnit}`}`;
    this.read.replaceChildren(
      h("b", {}, where),
      ...values.map((text, i) => h("span", { style: `--key:${look.series[i % 6]}` }, text)),
    );
    this.element.setAttribute("aria-label", `${figure.title}, at ${where}: ${values.join(", ")}`);
  }
}

/** The value of a curve at a place, and half of its interval; null where there is none. */
function readAt(curve: Curve, at: number): { value: number | null; half: number | null } {
  const { x, y, half, scale } = curve.all ?? { ...curve, scale: 1 };
  const row = nearest(x, at);
  const shown = (values: ArrayLike<number | null> | undefined): number | null => {
    const value = row < 0 ? null : (values?.[row] ?? null);
    return value === null || !Number.isFinite(value) ? null : value * scale;
  };
  return { value: shown(y), half: shown(half) };
}

/** The last point of a curve that is not right of a value; -1 where the curve has not begun. */
function nearest(x: ArrayLike<number>, value: number): number {
  let low = 0;
  let high = x.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (x[middle] <= value) low = middle + 1;
    else high = middle;
  }
  // A run has no value after its end: the last point does not extend beyond it.
  return low === x.length && low > 1 && value > x[low - 1] + (x[low - 1] - x[low - 2]) ? -1 : low - 1;
}
