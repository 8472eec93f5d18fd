import type { PushClock } from '../../src/measuring/pushes.ts';

/** A clock that goes on only when it is told to, and how often it was asked to ring. */
export class ManualClock implements PushClock {
  time = 0;
  alarms = 0;
  readonly #startedAt = Date.now();
  readonly #pending = new Set<{ readonly at: number; readonly ring: () => void }>();

  now = (): number => this.time;

  wall = (): number => this.#startedAt + this.time;

  after = (milliseconds: number, ring: () => void): (() => void) => {
    this.alarms += 1;
    const alarm = { at: this.time + milliseconds, ring };
    this.#pending.add(alarm);
    return () => this.#pending.delete(alarm);
  };

  get pending(): number {
    return this.#pending.size;
  }

  /** Goes on to that time, and rings on the way. */
  goTo(time: number): void {
    for (;;) {
      const [next] = [...this.#pending].filter(({ at }) => at <= time).sort((a, b) => a.at - b.at);
      if (next === undefined) break;
      this.#pending.delete(next);
      this.time = Math.max(this.time, next.at);
      next.ring();
    }
    this.time = time;
  }
}
