import * as THREE from "three";

const VERTEX = `
attribute vec3 place;
attribute vec3 tint;
attribute float size;
uniform vec2 viewport;
uniform float pull;
varying vec2 vCorner;
varying vec3 vTint;
varying float vSize;
void main() {
  vCorner = position.xy;
  vTint = tint;
  vSize = size;
  // Nearer along the line of sight: the mark stays where it is seen, and the ground under it does not cut it in two.
  vec4 eye = modelViewMatrix * vec4(place, 1.0);
  vec4 clip = projectionMatrix * vec4(eye.xyz * pull, 1.0);
  clip.xy += position.xy * size / viewport * clip.w * 2.0;
  gl_Position = clip;
}`;

const FRAGMENT = `
uniform float ring;
uniform float opacity;
varying vec2 vCorner;
varying vec3 vTint;
varying float vSize;
void main() {
  float r = length(vCorner);
  float pixel = 1.0 / vSize;
  float alpha = 1.0 - smoothstep(1.0 - pixel, 1.0, r);
  if (ring > 0.0) alpha *= smoothstep(1.0 - (ring + 2.0) * pixel, 1.0 - (ring + 1.0) * pixel, r);
  if (alpha < 0.02) discard;
  gl_FragColor = vec4(vTint, alpha * opacity);
  #include <colorspace_fragment>
}`;

/** Round marks of a size in pixels, whatever the distance: one instanced draw call for any number of them. */
export class Dots {
  readonly mesh: THREE.Mesh;
  private readonly geometry = new THREE.InstancedBufferGeometry();
  private readonly material: THREE.ShaderMaterial;
  private capacity = 0;
  place = new THREE.InstancedBufferAttribute(new Float32Array(0), 3);
  tint = new THREE.InstancedBufferAttribute(new Float32Array(0), 3);
  size = new THREE.InstancedBufferAttribute(new Float32Array(0), 1);

  /**
   * `ring` is the width of the line of hollow marks in pixels; 0 fills them. `onGround` is how much nearer marks on the
   * surface are drawn, as a share of their distance.
   */
  constructor(viewport: THREE.Vector2, ring: number, order: number, onGround = 0) {
    this.material = new THREE.ShaderMaterial({
      vertexShader: VERTEX,
      fragmentShader: FRAGMENT,
      uniforms: { viewport: { value: viewport }, ring: { value: ring }, opacity: { value: 1 }, pull: { value: 0.997 - onGround } },
      transparent: true,
      depthWrite: false,
    });
    const corners = new Float32Array([-1, -1, 0, 1, -1, 0, 1, 1, 0, -1, 1, 0]);
    this.geometry.setAttribute("position", new THREE.BufferAttribute(corners, 3));
    this.geometry.setIndex([0, 1, 2, 0, 2, 3]);
    this.mesh = new THREE.Mesh(this.geometry, this.material);
    this.mesh.frustumCulled = false;
    this.mesh.renderOrder = order;
  }

  /** Room for `count` marks, all of which are drawn. */
  resize(count: number): void {
    this.geometry.instanceCount = count;
    this.mesh.visible = count > 0;
    if (count <= this.capacity) return;
    this.capacity = Math.max(count, this.capacity * 2);
    this.place = dynamic(this.capacity, 3);
    this.tint = dynamic(this.capacity, 3);
    this.size = dynamic(this.capacity, 1);
    this.geometry.setAttribute("place", this.place);
    this.geometry.setAttribute("tint", this.tint);
    this.geometry.setAttribute("size", this.size);
  }

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

function dynamic(count: number, width: number): THREE.InstancedBufferAttribute {
  const attribute = new THREE.InstancedBufferAttribute(new Float32Array(count * width), width);
  attribute.setUsage(THREE.DynamicDrawUsage);
  return attribute;
}
