import * as THREE from "three";
import { LAND } from "../data/land";
import { toVector } from "../data/geo";
import type { Palette } from "./palette";

const WIDTH = 2048;
const HEIGHT = 1024;
const COAST_RADIUS = 1.0015;

const VERTEX = `
varying vec3 vPlace;
varying vec3 vNormal;
varying vec2 vUv;
void main() {
  vUv = uv;
  vPlace = position;
  vNormal = normalMatrix * normal;
  gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
}`;

const FRAGMENT = `
uniform sampler2D map;
uniform vec3 sun;
uniform vec3 night;
uniform vec3 glow;
uniform float darkness;
varying vec3 vPlace;
varying vec3 vNormal;
varying vec2 vUv;
void main() {
  vec3 day = texture2D(map, vUv).rgb;
  float light = smoothstep(-0.12, 0.16, dot(normalize(vPlace), sun));
  vec3 lit = mix(mix(day, night, darkness), day, light);
  float rim = pow(1.0 - abs(normalize(vNormal).z), 3.0);
  gl_FragColor = vec4(mix(lit, glow, rim * 0.55), 1.0);
  #include <colorspace_fragment>
}`;

const HALO_VERTEX = `
varying vec3 vNormal;
varying vec3 vEye;
void main() {
  vNormal = normalize(normalMatrix * normal);
  vec4 eye = modelViewMatrix * vec4(position, 1.0);
  vEye = normalize(-eye.xyz);
  gl_Position = projectionMatrix * eye;
}`;

const HALO_FRAGMENT = `
uniform vec3 glow;
varying vec3 vNormal;
varying vec3 vEye;
void main() {
  float depth = clamp(-dot(vNormal, vEye), 0.0, 1.0);
  gl_FragColor = vec4(glow, pow(depth, 3.2) * 1.6);
  #include <colorspace_fragment>
}`;

/** Three's axes from ours: its y is the north pole. */
export function toScene(x: number, y: number, z: number): [number, number, number] {
  return [x, z, -y];
}

/** The globe: land and sea, day and night, coastlines, a thin atmosphere. Three draw calls. */
export class Earth {
  readonly group = new THREE.Group();
  private readonly canvas = document.createElement("canvas");
  private readonly texture: THREE.CanvasTexture;
  private readonly surface: THREE.ShaderMaterial;
  private readonly halo: THREE.ShaderMaterial;
  private readonly coast: THREE.LineBasicMaterial;

  constructor() {
    this.canvas.width = WIDTH;
    this.canvas.height = HEIGHT;
    this.texture = new THREE.CanvasTexture(this.canvas);
    this.texture.colorSpace = THREE.SRGBColorSpace;
    this.texture.anisotropy = 4;
    this.surface = new THREE.ShaderMaterial({
      vertexShader: VERTEX,
      fragmentShader: FRAGMENT,
      uniforms: {
        map: { value: this.texture },
        sun: { value: new THREE.Vector3(1, 0, 0) },
        night: { value: new THREE.Color() },
        glow: { value: new THREE.Color() },
        darkness: { value: 0.8 },
      },
    });
    this.halo = new THREE.ShaderMaterial({
      vertexShader: HALO_VERTEX,
      fragmentShader: HALO_FRAGMENT,
      uniforms: { glow: { value: new THREE.Color() } },
      side: THREE.BackSide,
      transparent: true,
      depthWrite: false,
    });
    this.coast = new THREE.LineBasicMaterial({ transparent: true, opacity: 0.8 });
    this.group.add(new THREE.Mesh(new THREE.SphereGeometry(1, 96, 64), this.surface));
    const halo = new THREE.Mesh(new THREE.SphereGeometry(1.09, 64, 48), this.halo);
    halo.renderOrder = -1;
    this.group.add(halo, new THREE.LineSegments(coastlines(), this.coast));
  }

  paint(colours: Palette): void {
    paintMap(this.canvas, colours, true);
    this.texture.needsUpdate = true;
    this.surface.uniforms["night"].value.set(colours.night);
    this.surface.uniforms["glow"].value.set(colours.glow);
    this.halo.uniforms["glow"].value.set(colours.glow);
    this.coast.color.set(colours.coast);
  }

  /** Puts the Sun into a direction (Earth-fixed); without night the whole globe is lit. */
  light(sun: readonly [number, number, number], night: boolean): void {
    this.surface.uniforms["sun"].value.set(...toScene(...sun));
    this.surface.uniforms["darkness"].value = night ? 0.78 : 0;
  }
}

/** Sea, graticule and land in plate carrée over the whole canvas; coastlines where they are not drawn as lines. */
export function paintMap(canvas: HTMLCanvasElement, colours: Palette, globe: boolean): void {
  const context = canvas.getContext("2d");
  if (!context) return;
  const { width, height } = canvas;
  context.fillStyle = colours.ocean;
  context.fillRect(0, 0, width, height);
  context.beginPath();
  for (const ring of LAND) {
    for (let i = 0; i < ring.length; i += 2) {
      const x = ((ring[i] + 180) / 360) * width;
      const y = ((90 - ring[i + 1]) / 180) * height;
      if (i === 0) context.moveTo(x, y);
      else context.lineTo(x, y);
    }
    context.closePath();
  }
  context.fillStyle = colours.land;
  context.fill("evenodd");
  if (!globe) {
    context.strokeStyle = colours.coast;
    context.lineWidth = Math.max(1, width / 1400);
    context.stroke();
  }
  context.beginPath();
  for (let longitude = -150; longitude < 180; longitude += 30) {
    const x = ((longitude + 180) / 360) * width;
    context.moveTo(x, 0);
    context.lineTo(x, height);
  }
  for (let latitude = -60; latitude < 90; latitude += 30) {
    const y = ((90 - latitude) / 180) * height;
    context.moveTo(0, y);
    context.lineTo(width, y);
  }
  context.strokeStyle = colours.graticule;
  context.lineWidth = Math.max(1, width / 2048);
  context.stroke();
}

function coastlines(): THREE.BufferGeometry {
  const points: number[] = [];
  for (const ring of LAND) {
    for (let i = 0; i + 3 < ring.length; i += 2) {
      if (Math.max(Math.abs(ring[i]), Math.abs(ring[i + 2])) > 180 || Math.min(ring[i + 1], ring[i + 3]) < -89)
        continue;
      for (const [longitude, latitude] of [
        [ring[i], ring[i + 1]],
        [ring[i + 2], ring[i + 3]],
      ]) {
        const [x, y, z] = toVector({ latitude, longitude, altitudeKm: 0 });
        points.push(...toScene(x * COAST_RADIUS, y * COAST_RADIUS, z * COAST_RADIUS));
      }
    }
  }
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.Float32BufferAttribute(points, 3));
  return geometry;
}
