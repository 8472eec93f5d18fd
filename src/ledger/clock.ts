/** The two clocks of the ledger, both in milliseconds. */

export interface Clock {
  /** Since 1970, for people and for the store. It may be set, back and forward. */
  wall(): number;
  /** Since any moment. Nobody sets it, and so nothing but it measures how long something took. */
  monotonic(): number;
}

export const systemClock: Clock = {
  wall: () => Date.now(),
  monotonic: () => performance.now(),
};
