import * as THREE from "three";
import { Dots } from "./dots";
import type { Frame } from "./frame";
import type { Palette } from "./palette";

/** All satellites as dots: those that a flow uses or that serve a station stand out. */
export class Satellites {
  readonly group = new THREE.Group();
  private readonly dots: Dots;
  private readonly rings: Dots;
  private readonly colour = { serving: new THREE.Color(), selected: new THREE.Color(), shells: [new THREE.Color()] };
  private shells: number[] = [];
  private shownRun = "";
  private marked = new Set<number>();
  private stale = true;

  constructor(ratio: THREE.IUniform<number>) {
    this.dots = new Dots(ratio, 0, 5);
    this.rings = new Dots(ratio, 1.6, 6);
    this.group.add(this.dots.mesh, this.rings.mesh);
  }

  paint(colours: Palette): void {
    this.colour.serving.set(colours.serving);
    this.colour.selected.set(colours.selected);
    this.colour.shells = colours.shells.map((value) => new THREE.Color(value));
    this.stale = true;
  }

  update(frame: Frame): void {
    const { sky } = frame.run;
    const inUse = usedSatellites(frame);
    if (this.stale || frame.run.id !== this.shownRun || !sameSet(inUse, this.marked)) {
      this.shownRun = frame.run.id;
      this.marked = inUse;
      this.stale = false;
      this.shells = sky.shells();
      this.dress(sky.size);
    }
    const place = this.dots.place.array as Float32Array;
    const { positions } = frame;
    for (let i = 0; i < sky.size * 3; i += 3) {
      place[i] = positions[i];
      place[i + 1] = positions[i + 2];
      place[i + 2] = -positions[i + 1];
    }
    this.dots.place.needsUpdate = sky.size > 0;
    this.ring(frame);
  }

  private dress(count: number): void {
    this.dots.resize(count);
    const size = count > 4000 ? 1.45 : count > 1000 ? 2.2 : count > 300 ? 3 : 4;
    for (let i = 0; i < count; i++) {
      const used = this.marked.has(i);
      const shell = this.colour.shells[this.shells[i] % this.colour.shells.length];
      const colour = used ? this.colour.serving : shell;
      this.dots.tint.setXYZ(i, colour.r, colour.g, colour.b);
      this.dots.size.setX(i, used ? Math.max(5.5, size * 1.5) : size);
    }
    if (count > 0) this.dots.flush();
  }

  private ring(frame: Frame): void {
    const chosen = frame.selection?.kind === "satellite" ? frame.run.sky.index.get(frame.selection.name) : undefined;
    this.rings.resize(chosen === undefined ? 0 : 1);
    if (chosen === undefined) return;
    const { positions } = frame;
    this.rings.set(
      0,
      positions[chosen * 3],
      positions[chosen * 3 + 1],
      positions[chosen * 3 + 2],
      this.colour.selected,
      11,
    );
    this.rings.flush();
  }
}

/** The satellites on a path or with a station. */
export function usedSatellites(frame: Frame): Set<number> {
  const used = new Set<number>();
  const add = (name: string): void => {
    const satellite = frame.run.sky.index.get(name);
    if (satellite !== undefined) used.add(satellite);
  };
  for (const name of [...frame.serving.values()].flat()) add(name);
  for (const path of frame.paths) path.nodes.forEach(add);
  return used;
}

function sameSet(a: Set<number>, b: Set<number>): boolean {
  if (a.size !== b.size) return false;
  for (const value of a) if (!b.has(value)) return false;
  return true;
}
