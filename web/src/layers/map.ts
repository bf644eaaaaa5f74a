import { footprintAngle, groundCircle, toPlace, type Vector } from "../data/geo";
import { paintMap } from "./earth";
import { lossSize, positionOf, QUEUE_SIZE, type Frame } from "./frame";
import { loadColour, palette, type Palette } from "./palette";
import type { Picture } from "./picture";
import { usedSatellites } from "./satellites";

type Point = [number, number];

const TWILIGHT = 0.14; // sine of the Sun's height (8°) over which day fades into night on either side of their border
const NIGHT = 0.45; // opacity
const SHADE = { width: 180, height: 90 }; // pixels of the night's picture, 2° each

/** The flat map (plate carrée) on a plain canvas; also where there is no WebGL. */
export class FlatMap implements Picture {
  readonly canvas = document.createElement("canvas");
  readonly drawCalls = 0;
  private readonly base = document.createElement("canvas");
  private readonly shade = document.createElement("canvas");
  /** What `shade` was drawn for. */
  private shaded = { sun: [0, 0, 0] as Vector, colour: "" };
  private colours: Palette = palette();
  private size = { width: 1, height: 1 };
  private scale = 1;
  private centre: Point = [0, 0];
  private dragged: Point | null = null;

  constructor(private readonly onMoved: () => void) {
    this.base.width = 2048;
    this.base.height = 1024;
    this.shade.width = SHADE.width;
    this.shade.height = SHADE.height;
    this.canvas.addEventListener("pointerdown", (event) => {
      this.dragged = [event.clientX, event.clientY];
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointerup", () => (this.dragged = null));
    this.canvas.addEventListener("pointermove", (event) => this.drag(event));
    this.canvas.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        this.zoom(Math.exp(event.deltaY * 0.001));
      },
      { passive: false },
    );
  }

  paint(): void {
    this.colours = palette();
    paintMap(this.base, this.colours, false);
  }

  resize(width: number, height: number): void {
    this.size = { width, height };
    const ratio = Math.min(2, window.devicePixelRatio);
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
  }

  /** On the map a flight would be no faster than a look at the whole. */
  look(frame: Frame, nodes: readonly string[]): void {
    const places = nodes
      .map((node) => positionOf(frame, node))
      .filter((at) => at !== null)
      .map(toPlace);
    if (places.length === 0) return;
    const first = places[0].longitude;
    // Longitudes go on beyond 180° where the nodes lie on both sides of it.
    const east = places.map(({ longitude }) => first + ((((longitude - first) % 360) + 540) % 360) - 180);
    const north = places.map(({ latitude }) => latitude);
    const [west, right, south, top] = [Math.min(...east), Math.max(...east), Math.min(...north), Math.max(...north)];
    this.scale = 1;
    const room =
      Math.min(this.size.width / Math.max(20, right - west), this.size.height / Math.max(20, top - south)) * 0.7;
    // Nodes on both sides of the map's edge are seen in the whole map only.
    const inside = west >= -180 && right <= 180;
    this.scale = inside ? Math.min(12, Math.max(1, room / this.perDegree)) : 1;
    this.centre = inside ? [(west + right) / 2, (south + top) / 2] : [0, 0];
    this.keepInside();
  }

  turn(right: number, up: number): void {
    this.centre = [this.centre[0] + (right * 180) / Math.PI, this.centre[1] + (up * 180) / Math.PI];
    this.keepInside();
  }

  zoom(factor: number): void {
    this.scale = Math.min(12, Math.max(1, this.scale / factor));
    this.keepInside();
  }

  project(x: number, y: number, z: number): Point | null {
    const place = toPlace([x, y, z]);
    const [px, py] = this.toPixel(place.longitude, place.latitude);
    const { width, height } = this.size;
    return px < -20 || px > width + 20 || py < -20 || py > height + 20 ? null : [px, py];
  }

  draw(frame: Frame): void {
    const context = this.canvas.getContext("2d");
    if (!context) return;
    const ratio = this.canvas.width / this.size.width;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.size.width, this.size.height);
    const [left, top] = this.toPixel(-180, 90);
    const [right, bottom] = this.toPixel(180, -90);
    context.save();
    context.beginPath();
    context.rect(left, top, right - left, bottom - top);
    context.clip();
    context.drawImage(this.base, left, top, right - left, bottom - top);
    if (frame.shown.night) {
      this.paintNight(frame.run.sunAt(frame.time));
      context.drawImage(this.shade, left, top, right - left, bottom - top);
    }
    this.drawCoverage(context, frame);
    this.drawLinks(context, frame);
    this.drawLoads(context, frame);
    this.drawSatellites(context, frame);
    this.drawPaths(context, frame);
    this.drawStations(context, frame);
    this.drawQueues(context, frame);
    this.drawLosses(context, frame);
    context.restore();
  }

  /** Pixels per degree. */
  private get perDegree(): number {
    return Math.min(this.size.width / 360, this.size.height / 180) * this.scale;
  }

  private toPixel(longitude: number, latitude: number): Point {
    const k = this.perDegree;
    return [
      this.size.width / 2 + (longitude - this.centre[0]) * k,
      this.size.height / 2 - (latitude - this.centre[1]) * k,
    ];
  }

  private drag(event: PointerEvent): void {
    if (!this.dragged) return;
    const k = this.perDegree;
    this.centre = [
      this.centre[0] - (event.clientX - this.dragged[0]) / k,
      this.centre[1] + (event.clientY - this.dragged[1]) / k,
    ];
    this.dragged = [event.clientX, event.clientY];
    this.keepInside();
  }

  private keepInside(): void {
    const k = this.perDegree;
    const roomX = Math.max(0, 180 - this.size.width / 2 / k);
    const roomY = Math.max(0, 90 - this.size.height / 2 / k);
    this.centre = [
      Math.min(roomX, Math.max(-roomX, this.centre[0])),
      Math.min(roomY, Math.max(-roomY, this.centre[1])),
    ];
    this.onMoved();
  }

  /** The night in a small picture of its own, drawn again when the Sun has moved by a quarter of a degree. */
  private paintNight(sun: Vector): void {
    const { night } = this.colours;
    const cosine = sun[0] * this.shaded.sun[0] + sun[1] * this.shaded.sun[1] + sun[2] * this.shaded.sun[2];
    const context = this.shade.getContext("2d");
    if (!context || (cosine > 0.99999 && night === this.shaded.colour)) return;
    this.shaded = { sun, colour: night };
    const { width, height } = SHADE;
    const picture = context.createImageData(width, height);
    for (let row = 0; row < height; row++) {
      const latitude = (0.5 - (row + 0.5) / height) * Math.PI;
      for (let column = 0; column < width; column++) {
        const longitude = ((column + 0.5) / width - 0.5) * 2 * Math.PI;
        const flat = sun[0] * Math.cos(longitude) + sun[1] * Math.sin(longitude);
        const up = flat * Math.cos(latitude) + sun[2] * Math.sin(latitude);
        const dark = Math.min(1, Math.max(0, (TWILIGHT - up) / (2 * TWILIGHT)));
        picture.data[(row * width + column) * 4 + 3] = 255 * NIGHT * dark * dark * (3 - 2 * dark);
      }
    }
    context.putImageData(picture, 0, 0);
    // The picture's opacity with the night's colour.
    context.globalCompositeOperation = "source-in";
    context.fillStyle = night;
    context.fillRect(0, 0, width, height);
  }

  private drawCoverage(context: CanvasRenderingContext2D, frame: Frame): void {
    const serving = new Set([...frame.serving.values()].flat());
    const chosen = frame.selection?.kind === "satellite" ? frame.selection.name : "";
    const names = frame.run.sky.size <= 150 && frame.shown.coverage ? frame.run.sky.names : [...serving, chosen];
    for (const name of names) {
      const at = positionOf(frame, name);
      if (!at || (!frame.shown.coverage && name !== chosen)) continue;
      const strong = serving.has(name) || name === chosen;
      const points: Point[] = [];
      groundCircle(at, footprintAngle(Math.hypot(...at), frame.run.maskDeg), 72, (x, y, z) => {
        const place = toPlace([x, y, z]);
        points.push([place.longitude, place.latitude]);
      });
      context.strokeStyle = this.colours.coverage;
      context.globalAlpha = strong ? 0.9 : 0.2;
      context.lineWidth = strong ? 1.4 : 0.8;
      context.beginPath();
      points.forEach((point, i) => this.line(context, point, points[(i + 1) % points.length]));
      context.stroke();
    }
    context.globalAlpha = 1;
  }

  private drawLinks(context: CanvasRenderingContext2D, frame: Frame): void {
    if (!frame.shown.isls) return;
    const { positions: p, isls, up } = frame;
    const places = new Float32Array(frame.run.sky.size * 2);
    for (let i = 0; i < frame.run.sky.size; i++) {
      const place = toPlace(p.subarray(i * 3, i * 3 + 3));
      places[i * 2] = place.longitude;
      places[i * 2 + 1] = place.latitude;
    }
    context.strokeStyle = this.colours.isl;
    context.globalAlpha = isls.length > 1000 ? 0.12 : 0.55;
    context.lineWidth = isls.length > 1000 ? 0.5 : 1;
    context.beginPath();
    for (let i = 0; i < isls.length; i++) {
      if (!up[i]) continue;
      const { a, b } = isls[i];
      this.line(context, [places[a * 2], places[a * 2 + 1]], [places[b * 2], places[b * 2 + 1]]);
    }
    context.stroke();
    context.globalAlpha = 1;
  }

  private drawLoads(context: CanvasRenderingContext2D, frame: Frame): void {
    // Wider than the paths that run over it.
    context.lineWidth = 8;
    for (const { a, b, share } of frame.loads) {
      const [from, to] = [toPlace(a), toPlace(b)];
      context.strokeStyle = `rgb(${loadColour(this.colours.load, share).join(" ")})`;
      context.beginPath();
      this.line(context, [from.longitude, from.latitude], [to.longitude, to.latitude]);
      context.stroke();
    }
  }

  /** A line straight on the map, east or west, whichever is shorter. */
  private line(context: CanvasRenderingContext2D, a: Point, b: Point): void {
    let east = b[0] - a[0];
    if (east > 180) east -= 360;
    if (east < -180) east += 360;
    const draw = (shift: number): void => {
      context.moveTo(...this.toPixel(a[0] + shift, a[1]));
      context.lineTo(...this.toPixel(a[0] + east + shift, b[1]));
    };
    draw(0);
    if (Math.abs(a[0] + east) > 180) draw(a[0] + east > 180 ? -360 : 360);
  }

  private drawSatellites(context: CanvasRenderingContext2D, frame: Frame): void {
    const used = usedSatellites(frame);
    const many = frame.run.sky.size > 1000;
    const radius = many ? 1.1 : 2.6;
    const chosen = frame.selection?.kind === "satellite" ? frame.run.sky.index.get(frame.selection.name) : undefined;
    for (let i = 0; i < frame.run.sky.size; i++) {
      const at = this.project(frame.positions[i * 3], frame.positions[i * 3 + 1], frame.positions[i * 3 + 2]);
      if (!at) continue;
      const on = used.has(i);
      context.fillStyle = on ? this.colours.serving : this.colours.satellite;
      if (many && !on) context.fillRect(at[0] - radius, at[1] - radius, radius * 2, radius * 2);
      else dot(context, at, on ? 4.2 : radius);
      if (i === chosen) ring(context, at, 10, this.colours.selected);
    }
  }

  private drawPaths(context: CanvasRenderingContext2D, frame: Frame): void {
    const flows = frame.run.flows;
    if (frame.formerPath) {
      context.strokeStyle = this.colours.path;
      context.lineWidth = 1.6;
      context.setLineDash([5, 5]);
      this.drawPath(context, frame, frame.formerPath.nodes);
      context.setLineDash([]);
    }
    for (const path of frame.paths) {
      context.strokeStyle =
        frame.paths.length > 1 ? this.colours.flows[Math.max(0, flows.indexOf(path.flows[0])) % 6] : this.colours.path;
      context.lineWidth = 3;
      context.lineJoin = "round";
      this.drawPath(context, frame, path.nodes);
    }
  }

  private drawPath(context: CanvasRenderingContext2D, frame: Frame, nodes: readonly string[]): void {
    context.beginPath();
    const places = nodes
      .map((node) => positionOf(frame, node))
      .filter((at) => at !== null)
      .map(toPlace);
    for (let i = 0; i + 1 < places.length; i++) {
      this.line(context, [places[i].longitude, places[i].latitude], [places[i + 1].longitude, places[i + 1].latitude]);
    }
    context.stroke();
  }

  private drawQueues(context: CanvasRenderingContext2D, frame: Frame): void {
    for (const { at: place, share } of frame.queues) {
      const at = this.project(...place);
      if (!at) continue;
      context.fillStyle = `rgb(${loadColour(this.colours.load, share).join(" ")})`;
      dot(context, at, QUEUE_SIZE);
    }
  }

  private drawLosses(context: CanvasRenderingContext2D, frame: Frame): void {
    for (const { node, packets, age } of frame.losses) {
      const place = positionOf(frame, node);
      const at = place && this.project(...place);
      if (at) ring(context, at, lossSize(packets) * (1 - 0.5 * age), this.colours.drop);
    }
  }

  private drawStations(context: CanvasRenderingContext2D, frame: Frame): void {
    for (const station of frame.stations) {
      const at = this.toPixel(station.place.longitude, station.place.latitude);
      context.fillStyle = this.colours.station;
      dot(context, at, 5.5);
      const handover = frame.handovers.find((one) => one.terminal === station.name && one.age < 1.6);
      if (handover) ring(context, at, 8 + 22 * (handover.age / 1.6), this.colours.handover);
    }
  }
}

function dot(context: CanvasRenderingContext2D, [x, y]: Point, radius: number): void {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
}

function ring(context: CanvasRenderingContext2D, [x, y]: Point, radius: number, colour: string): void {
  context.strokeStyle = colour;
  context.lineWidth = 2;
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.stroke();
}
