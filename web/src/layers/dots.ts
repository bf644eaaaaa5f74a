import * as THREE from "three";

const VERTEX = `
attribute vec3 tint;
attribute float size;
uniform float ratio;
uniform float pull;
varying vec3 vTint;
varying float vSize;
void main() {
  vTint = tint;
  vSize = size * ratio;
  // Nearer along the line of sight: the mark stays where it is seen, and the ground under it does not cut it in two.
  vec4 eye = modelViewMatrix * vec4(position, 1.0);
  gl_Position = projectionMatrix * vec4(eye.xyz * pull, 1.0);
  gl_PointSize = 2.0 * vSize;
}`;

const FRAGMENT = `
uniform float ring;
varying vec3 vTint;
varying float vSize;
void main() {
  float pixel = 1.0 / vSize;
  float r = length(gl_PointCoord - 0.5) * 2.0;
  float alpha = 1.0 - smoothstep(1.0 - pixel, 1.0, r);
  if (ring > 0.0) alpha *= smoothstep(1.0 - (ring + 2.0) * pixel, 1.0 - (ring + 1.0) * pixel, r);
  if (alpha < 0.02) discard;
  gl_FragColor = vec4(vTint, alpha);
  #include <colorspace_fragment>
}`;

/**
 * Round marks of a size in pixels, whatever the distance: one draw call for any number of them. They are points and
 * not instanced squares, because rendering in software takes ten times as long for instances of two triangles.
 */
export class Dots {
  readonly mesh: THREE.Points;
  private readonly geometry = new THREE.BufferGeometry();
  private capacity = 0;
  place = new THREE.BufferAttribute(new Float32Array(0), 3);
  tint = new THREE.BufferAttribute(new Float32Array(0), 3);
  size = new THREE.BufferAttribute(new Float32Array(0), 1);

  /**
   * `ratio` is the number of device pixels per pixel. `ring` is the width of the line of hollow marks; 0 fills them.
   * `onGround` is how much nearer marks on the surface are drawn, as a share of their distance.
   */
  constructor(ratio: THREE.IUniform<number>, ring: number, order: number, onGround = 0) {
    const material = new THREE.ShaderMaterial({
      vertexShader: VERTEX,
      fragmentShader: FRAGMENT,
      uniforms: { ratio, ring: { value: ring }, pull: { value: 0.997 - onGround } },
      transparent: true,
      depthWrite: false,
    });
    this.mesh = new THREE.Points(this.geometry, material);
    this.mesh.frustumCulled = false;
    this.mesh.renderOrder = order;
  }

  /** Room for `count` marks, all of which are drawn. */
  resize(count: number): void {
    this.geometry.setDrawRange(0, count);
    this.mesh.visible = count > 0;
    if (count <= this.capacity) return;
    this.capacity = Math.max(count, this.capacity * 2);
    this.place = dynamic(this.capacity, 3);
    this.tint = dynamic(this.capacity, 3);
    this.size = dynamic(this.capacity, 1);
    this.geometry.setAttribute("position", this.place);
    this.geometry.setAttribute("tint", this.tint);
    this.geometry.setAttribute("size", this.size);
  }

  /** One mark; `size` is its radius. */
  set(index: number, x: number, y: number, z: number, colour: THREE.Color, size: number): void {
    this.place.setXYZ(index, x, z, -y);
    this.tint.setXYZ(index, colour.r, colour.g, colour.b);
    this.size.setX(index, size);
  }

  /** Sends what was set to the graphics card. */
  flush(): void {
    this.place.needsUpdate = true;
    this.tint.needsUpdate = true;
    this.size.needsUpdate = true;
  }
}

function dynamic(count: number, width: number): THREE.BufferAttribute {
  const attribute = new THREE.BufferAttribute(new Float32Array(count * width), width);
  attribute.setUsage(THREE.DynamicDrawUsage);
  return attribute;
}
