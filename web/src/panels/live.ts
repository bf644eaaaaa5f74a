import type { Live } from "../data/source";
import { live } from "../state/app";
import { theme } from "../state/theme";
import { h } from "./dom";
import { curveFigure, type Curves } from "./figure";
import { pageLook } from "./look";

const SIZE = { width: 440, height: 210 };
const MOST_DRAWN = 500;

/** Goodput and window of a run's first flows while it is under way; hidden as long as nothing is known. */
export function liveFigures(job: string): HTMLElement {
  const box = h("div", { class: "live", hidden: true });
  const draw = (): void => {
    const known = live.value.get(job);
    box.hidden = !known || known.points.length < 2;
    if (known && !box.hidden)
      box.innerHTML = figuresOf(known)
        .map((figure) => curveFigure(figure, pageLook(SIZE)))
        .join("");
  };
  // The row goes when its run ends; then nobody draws any more.
  const stop = [live.watch(() => (box.isConnected ? draw() : stop.forEach((end) => end()))), theme.watch(draw)];
  draw();
  return box;
}

/** Each few points as one: a rate is the mean since the point before that is drawn. */
function thinned(points: Live["points"], step: number): Live["points"] {
  if (step <= 1) return points;
  const found: Live["points"] = [];
  for (let first = 0; first < points.length; first += step) {
    const some = points.slice(first, first + step);
    const begin = first > 0 ? points[first - 1][0] : 0;
    const [end, , windows] = some[some.length - 1];
    const rates = some[0][1].map((_, flow) => {
      const bits = some.map(([time, own], i) => own[flow] * (time - (i > 0 ? some[i - 1][0] : begin)));
      return bits.reduce((a, b) => a + b, 0) / (end - begin);
    });
    found.push([end, rates, windows]);
  }
  return found;
}

function figuresOf({ flows, points }: Live): Curves[] {
  const step = Math.ceil(points.length / MOST_DRAWN);
  const drawn = thinned(points, step);
  const x = drawn.map(([time]) => time);
  const curves = (of: (point: Live["points"][number], flow: number) => number | null): Curves["curves"] =>
    flows.map((name, flow) => ({ name, x, y: drawn.map((point) => of(point, flow)) }));
  const figures: Curves[] = [
    { title: "Goodput", unit: "Mbit/s", xUnit: "Time (s)", curves: curves((point, flow) => point[1][flow] / 1e6) },
  ];
  if (points[0][2].some((cwnd) => cwnd !== null)) {
    figures.push({
      title: "Congestion window",
      unit: "segments",
      xUnit: "Time (s)",
      curves: curves((point, flow) => point[2][flow]),
    });
  }
  return figures;
}
