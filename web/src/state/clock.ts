import { Signal } from "./signal";

export const SPEEDS = [0.1, 1, 2, 5, 10, 30, 100, 300, 1000] as const;

/** The one time that globe and charts show, in seconds of the run, and whether it goes on by itself. */
export class Clock {
  readonly time = new Signal(0);
  readonly end = new Signal(0);
  readonly playing = new Signal(false);
  readonly speed = new Signal<number>(5);
  private before = 0;

  /** Goes to a time within the run. */
  seek(time: number): void {
    this.time.value = Math.min(this.end.value, Math.max(0, time));
  }

  play(): void {
    if (this.playing.value || this.end.value <= 0) return;
    if (this.time.value >= this.end.value) this.time.value = 0;
    this.playing.value = true;
    this.before = performance.now();
    requestAnimationFrame(this.step);
  }

  pause(): void {
    this.playing.value = false;
  }

  toggle(): void {
    if (this.playing.value) this.pause();
    else this.play();
  }

  private readonly step = (now: number): void => {
    if (!this.playing.value) return;
    // A tab that was hidden does not jump ahead when it is seen again.
    const elapsed = Math.min(0.25, (now - this.before) / 1000);
    this.before = now;
    this.seek(this.time.value + elapsed * this.speed.value);
    if (this.time.value >= this.end.value) this.pause();
    else requestAnimationFrame(this.step);
  };
}
