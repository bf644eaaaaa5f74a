/** A value that tells its watchers when it changes. */
export class Signal<T> {
  private readonly watchers = new Set<(value: T) => void>();

  constructor(private current: T) {}

  get value(): T {
    return this.current;
  }

  set value(value: T) {
    if (Object.is(value, this.current)) return;
    this.current = value;
    for (const watcher of [...this.watchers]) {
      // A watcher may have set another value, of which everybody has heard by now.
      if (!Object.is(value, this.current)) return;
      watcher(value);
    }
  }

  /** Calls back at every change; the answer ends that. */
  watch(watcher: (value: T) => void): () => void {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  }

  /** Calls back now and at every change. */
  follow(watcher: (value: T) => void): () => void {
    // The watcher is known before it is called: it may set the value itself.
    const end = this.watch(watcher);
    watcher(this.current);
    return end;
  }
}
