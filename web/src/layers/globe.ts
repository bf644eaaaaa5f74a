import * as THREE from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import { Earth, toScene } from "./earth";
import { nodesOf, positionOf, type Frame } from "./frame";
import { NetworkLayer } from "./network";
import { palette } from "./palette";
import { Satellites } from "./satellites";
import type { Picture } from "./picture";

const FLIGHT_MS = 700;
const NEAREST = 1.35;
const FARTHEST = 30;
const HIGH = 2; // Earth radii: above that a satellite and the Earth do not fit into one picture from above it

/** The globe in WebGL. */
export class Globe implements Picture {
  readonly canvas: HTMLCanvasElement;
  private readonly software = rendersInSoftware();
  private readonly renderer: THREE.WebGLRenderer;
  private readonly scene = new THREE.Scene();
  private readonly camera = new THREE.PerspectiveCamera(32, 1, 0.05, 60);
  private readonly controls: OrbitControls;
  private readonly ratio = { value: 1 };
  private readonly earth = new Earth();
  private readonly satellites: Satellites;
  private readonly network: NetworkLayer;
  private aimedAt = "";
  private flight: { from: THREE.Vector3; to: THREE.Vector3; begin: number } | null = null;
  private size = { width: 1, height: 1 };

  /** Throws where the browser has no WebGL. */
  constructor(private readonly onMoved: () => void) {
    this.renderer = new THREE.WebGLRenderer({ antialias: !this.software, alpha: true, powerPreference: "low-power" });
    this.canvas = this.renderer.domElement;
    this.satellites = new Satellites(this.ratio);
    this.network = new NetworkLayer(this.ratio);
    this.scene.add(this.earth.group, this.network.group, this.satellites.group);
    this.camera.position.set(0, 1.2, 4.4);
    this.controls = new OrbitControls(this.camera, this.canvas);
    this.controls.enablePan = false;
    this.controls.minDistance = NEAREST;
    this.controls.maxDistance = FARTHEST;
    this.controls.rotateSpeed = 0.6;
    this.controls.addEventListener("change", onMoved);
  }

  paint(): void {
    const colours = palette();
    this.earth.paint(colours);
    this.satellites.paint(colours);
    this.network.paint(colours);
  }

  resize(width: number, height: number): void {
    if (width === 0 || height === 0) return;
    this.size = { width, height };
    this.ratio.value = this.software ? 1 : Math.min(2, window.devicePixelRatio);
    this.renderer.setPixelRatio(this.ratio.value);
    this.renderer.setSize(width, height, false);
    this.network.resize(width, height);
    this.camera.aspect = width / height;
    // The field of view is the vertical one; a narrow picture needs a wider one to hold the globe.
    this.camera.fov = width < height ? 32 * Math.min(1.7, height / width) : 32;
    this.camera.updateProjectionMatrix();
  }

  draw(frame: Frame): void {
    if (this.aimedAt !== frame.run.id) this.look(frame, nodesOf(frame), false);
    this.fly();
    this.earth.light(frame.run.sunAt(frame.time), frame.shown.night);
    this.satellites.update(frame);
    this.network.update(frame);
    this.renderer.render(this.scene, this.camera);
  }

  look(frame: Frame, nodes: readonly string[], fly: boolean): void {
    const from = this.camera.position.clone();
    this.aim(frame, nodes);
    this.aimedAt = frame.run.id;
    this.flight = null;
    if (!fly) return;
    this.flight = { from, to: this.camera.position.clone(), begin: performance.now() };
    this.camera.position.copy(from);
    this.onMoved();
  }

  /** A step of the flight that is under way. */
  private fly(): void {
    if (!this.flight) return;
    const { from, to, begin } = this.flight;
    const share = Math.min(1, (performance.now() - begin) / FLIGHT_MS);
    const eased = share * share * (3 - 2 * share);
    const length = from.length() + (to.length() - from.length()) * eased;
    const at = from.clone().normalize().lerp(to.clone().normalize(), eased);
    this.camera.position.copy(share >= 1 || at.length() < 0.05 ? to : at.setLength(length));
    if (share >= 1) this.flight = null;
    this.controls.update();
    if (this.flight) this.onMoved();
  }

  /** Turns the globe so that nodes are in front. */
  private aim(frame: Frame, nodes: readonly string[]): void {
    const sum = new THREE.Vector3();
    for (const node of nodes) {
      const at = positionOf(frame, node);
      if (at) sum.add(new THREE.Vector3(...toScene(...at)).normalize());
    }
    if (sum.length() < 0.05) sum.set(0.4, 0.5, 1);
    const places = nodes.map((node) => positionOf(frame, node)).filter((at) => at !== null);
    const highest = frame.run.sky.size > 0 ? 1 + frame.run.sky.meanAltitudeKm() / 6371 : 1.1;
    sum.normalize();
    // From the side, so that the links up and down are seen.
    if (places.some((at) => Math.hypot(...at) > HIGH))
      sum.applyAxisAngle(new THREE.Vector3(0, 1, 0), 1.2).add(new THREE.Vector3(0, 0.25, 0));
    const distance = Math.min(HIGH, highest) * 3.75;
    // Straight above a pole the globe has no up.
    sum.y = Math.max(-0.8, Math.min(0.8, sum.y));
    this.camera.position.copy(sum.normalize().multiplyScalar(distance));
    this.controls.update();
    this.camera.updateMatrixWorld();
    while (this.camera.position.length() < FARTHEST && !places.every((at) => this.holds(at))) {
      this.camera.position.multiplyScalar(1.06);
      this.camera.updateMatrixWorld();
    }
  }

  /** Whether a place is in the picture, with room for its name. */
  private holds([x, y, z]: [number, number, number]): boolean {
    const at = this.scratch.set(...toScene(x, y, z)).project(this.camera);
    return Math.abs(at.x) < 0.86 && Math.abs(at.y) < 0.9;
  }

  turn(right: number, up: number): void {
    this.flight = null;
    const sphere = new THREE.Spherical().setFromVector3(this.camera.position);
    sphere.theta += right;
    sphere.phi = Math.min(Math.PI - 0.1, Math.max(0.1, sphere.phi - up));
    this.camera.position.setFromSpherical(sphere);
    this.controls.update();
  }

  zoom(factor: number): void {
    const distance = Math.min(FARTHEST, Math.max(NEAREST, this.camera.position.length() * factor));
    this.camera.position.setLength(distance);
    this.controls.update();
  }

  /** Where a position is on the canvas, in CSS pixels; null when it is behind the Earth or out of the picture. */
  project(x: number, y: number, z: number): [number, number] | null {
    const eye = this.camera.position;
    const [sx, sy, sz] = toScene(x, y, z);
    if (behindEarth(eye, sx, sy, sz)) return null;
    const at = this.scratch.set(sx, sy, sz).project(this.camera);
    if (at.z > 1 || Math.abs(at.x) > 1.05 || Math.abs(at.y) > 1.05) return null;
    return [((at.x + 1) / 2) * this.size.width, ((1 - at.y) / 2) * this.size.height];
  }
  private readonly scratch = new THREE.Vector3();

  get drawCalls(): number {
    return this.renderer.info.render.calls;
  }
}

/** Whether the processor draws instead of a graphics card: then edges are not smoothed, which would cost most. */
function rendersInSoftware(): boolean {
  const context = document.createElement("canvas").getContext("webgl2");
  const info = context?.getExtension("WEBGL_debug_renderer_info");
  if (!context || !info) return false;
  const name = String(context.getParameter(info.UNMASKED_RENDERER_WEBGL));
  context.getExtension("WEBGL_lose_context")?.loseContext();
  return /swiftshader|llvmpipe|softpipe|software|basic render/i.test(name);
}

/** Whether the line from the eye to a point enters the unit sphere before it gets there. */
function behindEarth(eye: THREE.Vector3, x: number, y: number, z: number): boolean {
  const dx = x - eye.x;
  const dy = y - eye.y;
  const dz = z - eye.z;
  const length = dx * dx + dy * dy + dz * dz;
  const along = -(eye.x * dx + eye.y * dy + eye.z * dz) / length;
  if (along <= 0 || along >= 1) return false;
  const cx = eye.x + dx * along;
  const cy = eye.y + dy * along;
  const cz = eye.z + dz * along;
  return cx * cx + cy * cy + cz * cz < 0.985;
}
