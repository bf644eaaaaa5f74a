import * as THREE from "three";
import { LineMaterial } from "three/examples/jsm/lines/LineMaterial.js";
import { LineSegments2 } from "three/examples/jsm/lines/LineSegments2.js";
import { LineSegmentsGeometry } from "three/examples/jsm/lines/LineSegmentsGeometry.js";

/** Thin straight lines in one colour and one draw call; positions are ours and turned into the scene's. */
export class ThinLines {
  readonly object: THREE.LineSegments;
  private readonly geometry = new THREE.BufferGeometry();
  private readonly material: THREE.LineBasicMaterial;
  private values = new Float32Array(0);
  private used = 0;

  constructor(opacity: number, order: number) {
    this.material = new THREE.LineBasicMaterial({ transparent: true, opacity, depthWrite: false });
    this.object = new THREE.LineSegments(this.geometry, this.material);
    this.object.frustumCulled = false;
    this.object.renderOrder = order;
  }

  colour(colour: string, opacity?: number): void {
    this.material.color.set(colour);
    if (opacity !== undefined) this.material.opacity = opacity;
  }

  /** Begins anew, with room for `segments`. */
  begin(segments: number): void {
    this.used = 0;
    if (segments * 6 <= this.values.length) return;
    this.values = new Float32Array(segments * 6);
    const attribute = new THREE.BufferAttribute(this.values, 3);
    attribute.setUsage(THREE.DynamicDrawUsage);
    this.geometry.setAttribute("position", attribute);
  }

  add(ax: number, ay: number, az: number, bx: number, by: number, bz: number): void {
    const { values } = this;
    let i = this.used;
    values[i++] = ax;
    values[i++] = az;
    values[i++] = -ay;
    values[i++] = bx;
    values[i++] = bz;
    values[i++] = -by;
    this.used = i;
  }

  end(): void {
    this.object.visible = this.used > 0;
    this.geometry.setDrawRange(0, this.used / 3);
    const attribute = this.geometry.getAttribute("position");
    if (attribute) attribute.needsUpdate = true;
  }
}

/** Lines of some pixels' width, each segment in its colour; what the Earth hides shines through faintly. */
export class ThickLines {
  readonly group = new THREE.Group();
  private readonly materials: LineMaterial[];
  private geometry = new LineSegmentsGeometry();
  private readonly objects: LineSegments2[];

  constructor(width: number, order: number) {
    const front = new LineMaterial({ linewidth: width, vertexColors: true, transparent: true, depthWrite: false });
    const behind = new LineMaterial({
      linewidth: width * 0.6,
      vertexColors: true,
      transparent: true,
      opacity: 0.28,
      depthWrite: false,
    });
    behind.depthFunc = THREE.GreaterDepth;
    this.materials = [front, behind];
    this.objects = this.materials.map((material) => new LineSegments2(this.geometry, material));
    for (const object of this.objects) {
      object.frustumCulled = false;
      object.renderOrder = order;
      this.group.add(object);
    }
  }

  resize(width: number, height: number): void {
    for (const material of this.materials) material.resolution.set(width, height);
  }

  /** Draws segments given as x y z of both ends, and r g b of both ends. */
  draw(points: number[], colours: number[]): void {
    this.group.visible = points.length > 0;
    if (points.length === 0) return;
    const count = points.length / 6;
    if (this.geometry.instanceCount !== count) {
      this.geometry.dispose();
      this.geometry = new LineSegmentsGeometry();
      for (const object of this.objects) object.geometry = this.geometry;
    }
    this.geometry.setPositions(points);
    this.geometry.setColors(colours);
  }
}
