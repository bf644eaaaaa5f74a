import * as THREE from "three";
import { footprintAngle, groundCircle } from "../data/geo";
import { Dots } from "./dots";
import { contacts, lossSize, positionOf, QUEUE_SIZE, type Frame } from "./frame";
import { ThickLines, ThinLines } from "./lines";
import { loadColour, type Palette } from "./palette";
import { usedSatellites } from "./satellites";

const CIRCLE_STEPS = 72;
const PULSE_EVERY = 0.16; // Earth radii between two pulses on a path
const MOST_PULSES = 30; // on one path; on a longer one they are farther apart, and faster
const PULSE_RATE = 2.2; // pulses per second on the reader's clock: for the eye, not the speed of light
const ALL_FOOTPRINTS = 150; // with more satellites, only the footprints of those in use
const ARC_STEPS = 5;
const GROUND_PULL = 0.03;
const DASH = 0.035; // Earth radii from one dash of a former path to the next
const MOST_DASHES = 40; // between two nodes

/** ISLs, planes, stations, links to the ground, paths, footprints and handovers. */
export class NetworkLayer {
  readonly group = new THREE.Group();
  private readonly isls = new ThinLines(0.5, 1);
  private readonly planes = new ThinLines(0.35, 1);
  private readonly ground = new ThinLines(0.9, 2);
  private readonly circles = new ThinLines(0.75, 2);
  private readonly faintCircles = new ThinLines(0.22, 2);
  private readonly path = new ThickLines(3.2, 3);
  /** Wider than the paths that run over it. */
  private readonly loads = new ThickLines(8, 2);
  private readonly pulses: Dots;
  private readonly stations: Dots;
  private readonly handovers: Dots;
  private readonly losses: Dots;
  private readonly queues: Dots;
  private readonly former = new ThinLines(0.95, 3);
  private readonly colours = {
    path: new THREE.Color(),
    station: new THREE.Color(),
    handover: new THREE.Color(),
    drop: new THREE.Color(),
    flows: [new THREE.Color()],
    load: ["#000000", "#000000", "#000000"] as Palette["load"],
  };
  private planesOf: { run: string; planes: number[][] } = { run: "", planes: [] };

  constructor(ratio: THREE.IUniform<number>) {
    this.pulses = new Dots(ratio, 0, 7);
    this.stations = new Dots(ratio, 0, 8, GROUND_PULL);
    this.handovers = new Dots(ratio, 2.2, 9, GROUND_PULL);
    this.losses = new Dots(ratio, 3, 10, GROUND_PULL);
    this.queues = new Dots(ratio, 0, 8, GROUND_PULL);
    this.group.add(
      this.queues.mesh,
      this.isls.object,
      this.planes.object,
      this.ground.object,
      this.circles.object,
      this.faintCircles.object,
      this.path.group,
      this.pulses.mesh,
      this.stations.mesh,
      this.handovers.mesh,
      this.former.object,
      this.losses.mesh,
      this.loads.group,
    );
  }

  paint(colours: Palette): void {
    this.isls.colour(colours.isl);
    this.planes.colour(colours.plane);
    this.ground.colour(colours.station);
    this.circles.colour(colours.coverage);
    this.faintCircles.colour(colours.coverage);
    this.colours.path.set(colours.path);
    this.colours.station.set(colours.station);
    this.colours.handover.set(colours.handover);
    this.colours.drop.set(colours.drop);
    this.former.colour(colours.path);
    this.colours.load = colours.load;
    this.colours.flows = colours.flows.map((value) => new THREE.Color(value));
  }

  resize(width: number, height: number): void {
    this.path.resize(width, height);
    this.loads.resize(width, height);
  }

  update(frame: Frame): void {
    this.drawIsls(frame);
    this.drawLoads(frame);
    this.drawPlanes(frame);
    this.drawGround(frame);
    this.drawCircles(frame);
    this.drawPaths(frame);
    this.drawFormerPath(frame);
    this.drawHandovers(frame);
    this.drawLosses(frame);
    this.drawQueues(frame);
  }

  private drawIsls(frame: Frame): void {
    const { positions: p, isls, up } = frame;
    const opacity = isls.length > 4000 ? 0.1 : isls.length > 1000 ? 0.16 : 0.5;
    (this.isls.object.material as THREE.LineBasicMaterial).opacity = opacity;
    this.isls.begin(isls.length);
    if (frame.shown.isls) {
      for (let i = 0; i < isls.length; i++) {
        if (!up[i]) continue;
        const a = isls[i].a * 3;
        const b = isls[i].b * 3;
        this.isls.add(p[a], p[a + 1], p[a + 2], p[b], p[b + 1], p[b + 2]);
      }
    }
    this.isls.end();
  }

  private drawLoads(frame: Frame): void {
    const points: number[] = [];
    const tints: number[] = [];
    const colour = new THREE.Color();
    for (const { a, b, share } of frame.loads) {
      const [red, green, blue] = loadColour(this.colours.load, share);
      colour.setRGB(red / 255, green / 255, blue / 255, THREE.SRGBColorSpace);
      points.push(a[0], a[2], -a[1], b[0], b[2], -b[1]);
      tints.push(colour.r, colour.g, colour.b, colour.r, colour.g, colour.b);
    }
    this.loads.draw(points, tints);
  }

  private drawPlanes(frame: Frame): void {
    if (this.planesOf.run !== frame.run.id) this.planesOf = { run: frame.run.id, planes: frame.run.sky.planes() };
    const { planes } = this.planesOf;
    this.planes.begin(frame.run.sky.size * ARC_STEPS);
    const many = frame.run.sky.size > 1000;
    // With many satellites the ISLs already show the planes.
    if (frame.shown.planes && !(many && frame.shown.isls && frame.isls.length > 0)) {
      for (const plane of planes) {
        plane.forEach((from, i) =>
          this.arc(frame.positions, from, plane[(i + 1) % plane.length], many ? 1 : ARC_STEPS),
        );
      }
    }
    this.planes.end();
  }

  /** From one satellite to the next along their orbit. */
  private arc(p: Float32Array, from: number, to: number, steps: number): void {
    const a = from * 3;
    const b = to * 3;
    const radius = Math.hypot(p[a], p[a + 1], p[a + 2]);
    let [x, y, z] = [p[a], p[a + 1], p[a + 2]];
    for (let step = 1; step <= steps; step++) {
      const share = step / steps;
      let nx = p[a] + (p[b] - p[a]) * share;
      let ny = p[a + 1] + (p[b + 1] - p[a + 1]) * share;
      let nz = p[a + 2] + (p[b + 2] - p[a + 2]) * share;
      const stretch = radius / Math.hypot(nx, ny, nz);
      nx *= stretch;
      ny *= stretch;
      nz *= stretch;
      this.planes.add(x, y, z, nx, ny, nz);
      [x, y, z] = [nx, ny, nz];
    }
  }

  private drawGround(frame: Frame): void {
    const { stations } = frame;
    this.stations.resize(stations.length);
    stations.forEach(({ position: [x, y, z] }, i) =>
      this.stations.set(i, x * 1.002, y * 1.002, z * 1.002, this.colours.station, 6),
    );
    if (stations.length > 0) this.stations.flush();
    const pairs = contacts(frame);
    this.ground.begin(pairs.length);
    for (const [name, by] of pairs) {
      const [station, satellite] = [positionOf(frame, name), positionOf(frame, by)];
      if (station && satellite) this.ground.add(...station, ...satellite);
    }
    this.ground.end();
  }

  private drawCircles(frame: Frame): void {
    const used = usedSatellites(frame);
    const serving = new Set([...frame.serving.values()].flat().map((name) => frame.run.sky.index.get(name)));
    const chosen = frame.selection?.kind === "satellite" ? frame.run.sky.index.get(frame.selection.name) : undefined;
    const strong = [...used].filter((satellite) => serving.has(satellite));
    if (chosen !== undefined && !strong.includes(chosen)) strong.push(chosen);
    const all = frame.run.sky.size <= ALL_FOOTPRINTS;
    const faint = frame.shown.coverage ? (all ? frame.run.sky.names.map((_, i) => i) : [...used]) : [];
    this.footprints(this.circles, frame, frame.shown.coverage || chosen !== undefined ? strong : []);
    this.footprints(
      this.faintCircles,
      frame,
      faint.filter((satellite) => !strong.includes(satellite)),
    );
  }

  private footprints(lines: ThinLines, frame: Frame, satellites: number[]): void {
    lines.begin(satellites.length * CIRCLE_STEPS);
    for (const satellite of satellites) {
      const at = frame.positions.subarray(satellite * 3, satellite * 3 + 3);
      const angle = footprintAngle(Math.hypot(at[0], at[1], at[2]), frame.run.maskDeg);
      let first: [number, number, number] = [0, 0, 0];
      let last = first;
      groundCircle(at, angle, CIRCLE_STEPS, (x, y, z, step) => {
        const point: [number, number, number] = [x * 1.003, y * 1.003, z * 1.003];
        if (step === 0) first = point;
        else lines.add(...last, ...point);
        last = point;
      });
      lines.add(...last, ...first);
    }
    lines.end();
  }

  private drawPaths(frame: Frame): void {
    const points: number[] = [];
    const tints: number[] = [];
    const marks: { at: number[]; colour: THREE.Color }[] = [];
    const flows = frame.run.flows;
    for (const path of frame.paths) {
      const colour = frame.paths.length > 1 ? this.flowColour(flows.indexOf(path.flows[0])) : this.colours.path;
      const nodes = path.nodes.map((node) => positionOf(frame, node)).filter((at) => at !== null);
      for (let i = 0; i + 1 < nodes.length; i++) {
        const [a, b] = [nodes[i], nodes[i + 1]];
        points.push(a[0], a[2], -a[1], b[0], b[2], -b[1]);
        tints.push(colour.r, colour.g, colour.b, colour.r, colour.g, colour.b);
      }
      const colours = path.flows.map((flow) => this.flowColour(flows.indexOf(flow)));
      marks.push(...pulsesAlong(nodes, frame.phase, colours));
    }
    this.path.draw(points, tints);
    this.pulses.resize(marks.length);
    marks.forEach(({ at, colour }, i) => this.pulses.set(i, at[0], at[1], at[2], colour, 4.4));
    if (marks.length > 0) this.pulses.flush();
  }

  /** The path before the change of path, dashed. */
  private drawFormerPath(frame: Frame): void {
    const nodes = (frame.formerPath?.nodes ?? []).map((node) => positionOf(frame, node)).filter((at) => at !== null);
    this.former.begin(nodes.length * MOST_DASHES);
    for (let i = 0; i + 1 < nodes.length; i++) {
      const [a, b] = [nodes[i], nodes[i + 1]];
      const dashes = Math.min(
        MOST_DASHES,
        Math.max(2, Math.round(Math.hypot(b[0] - a[0], b[1] - a[1], b[2] - a[2]) / DASH)),
      );
      const at = (share: number): [number, number, number] => [
        a[0] + (b[0] - a[0]) * share,
        a[1] + (b[1] - a[1]) * share,
        a[2] + (b[2] - a[2]) * share,
      ];
      for (let dash = 0; dash < dashes; dash++) this.former.add(...at(dash / dashes), ...at((dash + 0.55) / dashes));
    }
    this.former.end();
  }

  private drawLosses(frame: Frame): void {
    const places = frame.losses
      .map((one) => ({ ...one, at: positionOf(frame, one.node) }))
      .filter((one) => one.at !== null);
    this.losses.resize(places.length);
    places.forEach(({ at, packets, age }, i) => {
      const [x, y, z] = at!;
      this.losses.set(i, x * 1.002, y * 1.002, z * 1.002, this.colours.drop, lossSize(packets) * (1 - 0.5 * age));
    });
    if (places.length > 0) this.losses.flush();
  }

  private drawQueues({ queues }: Frame): void {
    this.queues.resize(queues.length);
    const colour = new THREE.Color();
    queues.forEach(({ at: [x, y, z], share }, i) => {
      const [red, green, blue] = loadColour(this.colours.load, share);
      colour.setRGB(red / 255, green / 255, blue / 255, THREE.SRGBColorSpace);
      this.queues.set(i, x * 1.003, y * 1.003, z * 1.003, colour, QUEUE_SIZE);
    });
    if (queues.length > 0) this.queues.flush();
  }

  private flowColour(index: number): THREE.Color {
    return this.colours.flows[Math.max(0, index) % this.colours.flows.length];
  }

  private drawHandovers(frame: Frame): void {
    const rings = frame.handovers.filter(({ age }) => age < 1.6);
    this.handovers.resize(rings.length);
    rings.forEach(({ terminal, age }, i) => {
      const at = positionOf(frame, terminal) ?? [0, 0, 0];
      this.handovers.set(i, at[0] * 1.002, at[1] * 1.002, at[2] * 1.002, this.colours.handover, 8 + 22 * (age / 1.6));
    });
    if (rings.length > 0) this.handovers.flush();
  }
}

/** Marks that run along a path, one after another in the colours of its flows. */
function pulsesAlong(
  nodes: [number, number, number][],
  phase: number,
  colours: THREE.Color[],
): { at: number[]; colour: THREE.Color }[] {
  const marks: { at: number[]; colour: THREE.Color }[] = [];
  let whole = 0;
  for (let i = 0; i + 1 < nodes.length; i++)
    whole += Math.hypot(...[0, 1, 2].map((axis) => nodes[i + 1][axis] - nodes[i][axis]));
  const every = Math.max(PULSE_EVERY, whole / MOST_PULSES);
  const gone = phase * PULSE_RATE;
  // The first pulse on the path is the one sent last.
  let position = (gone % 1) * every;
  let number = Math.floor(gone);
  let begin = 0;
  for (let i = 0; i + 1 < nodes.length; i++) {
    const [a, b] = [nodes[i], nodes[i + 1]];
    const length = Math.hypot(b[0] - a[0], b[1] - a[1], b[2] - a[2]);
    for (; position < begin + length; position += every, number--) {
      const share = (position - begin) / length;
      const colour = colours[((number % colours.length) + colours.length) % colours.length];
      marks.push({ at: [0, 1, 2].map((axis) => a[axis] + (b[axis] - a[axis]) * share), colour });
    }
    begin += length;
  }
  return marks;
}
