/** A clock that nobody sets, in milliseconds, and its alarm. */

export interface Timing {
  now(): number;
  /** Calls back once; returns a function that calls that off. */
  after(milliseconds: number, callback: () => void): () => void;
}

export const systemTiming: Timing = {
  now: () => performance.now(),
  after: (milliseconds, callback) => {
    const timer = setTimeout(callback, milliseconds);
    return () => clearTimeout(timer);
  },
};
