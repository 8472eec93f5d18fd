/** A clock that nobody sets, in milliseconds, and its alarm. */

export interface Timing {
  now(): number;
  /** Calls back once; returns a function that calls that off. */
  after(milliseconds: number, callback: () => void): () => void;
}

/** Waits so many milliseconds for an answer; then it is `late`. */
export async function inTime<Answer, Late>(
  timing: Timing,
  answer: Promise<Answer>,
  milliseconds: number,
  late: Late,
): Promise<Answer | Late> {
  const { promise: over, resolve } = Promise.withResolvers<Late>();
  const callOff = timing.after(milliseconds, () => resolve(late));
  try {
    return await Promise.race([answer, over]);
  } finally {
    callOff();
  }
}

export const systemTiming: Timing = {
  now: () => performance.now(),
  after: (milliseconds, callback) => {
    const timer = setTimeout(callback, milliseconds);
    return () => clearTimeout(timer);
  },
};
