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
