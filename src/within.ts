import { SoftquotaError } from './errors.ts';

/**
 * Waits for an answer for at most so many milliseconds, then returns `late` and ignores the answer. Rejects
 * as the answer does. If the process itself was blocked for longer, an answer that arrived meanwhile counts.
 */
export async function within<Answer, Late>(
  answer: Promise<Answer>,
  milliseconds: number,
  late: Late,
): Promise<Answer | Late> {
  const { promise: over, resolve } = Promise.withResolvers<Late>();
  // The event loop runs timers before it reads sockets; setImmediate runs after reading.
  const timer = setTimeout(() => setImmediate(resolve, late), milliseconds);
  try {
    return await Promise.race([answer, over]);
  } finally {
    clearTimeout(timer);
  }
}

/** Limits the time of several waits together; the time between them does not count. */
export class Deadline {
  #leftMs: number;

  constructor(ms: number) {
    this.#leftMs = ms;
  }

  /** Rejects with `store_away` if the answer is late. The late answer is ignored. */
  async wait<T>(answer: Promise<T>, refusal: string): Promise<T> {
    const begun = performance.now();
    const late = Symbol('late');
    try {
      const found = await within<T, typeof late>(answer, Math.max(this.#leftMs, 0), late);
      if (found === late) throw new SoftquotaError('store_away', refusal);
      return found;
    } finally {
      this.#leftMs -= performance.now() - begun;
    }
  }
}

/** A clock in milliseconds, with an alarm. */
export interface AlarmClock {
  now(): number;
  /** Calls back once, after some milliseconds; returns a function that cancels it. Keeps no process alive. */
  after(milliseconds: number, callback: () => void): () => void;
}

export const monotonicClock: AlarmClock = {
  now: () => performance.now(),
  after: (milliseconds, callback) => {
    const timer = setTimeout(callback, milliseconds).unref();
    return () => clearTimeout(timer);
  },
};
