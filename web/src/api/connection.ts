/**
 * Tracks if the daemon answers, and if it accepts the user.
 *
 * Every request reports its outcome here. While the daemon does not answer, its version is requested at
 * growing intervals. `onReturn` is called when it answers, so that pages recover by themselves.
 */

import { Watched } from './watched.ts';

export type Reachability =
  | { readonly is: 'there' }
  /** `since` is the time of the last answer; null if there was none. */
  | { readonly is: 'away'; readonly since: Date | null };

const firstProbeMs = 500;
const rarestProbeMs = 10_000;
/** A daemon that was stopped accepts connections, and answers nothing. */
const longestProbeMs = 10_000;

export const reachability = new Watched<Reachability>({ is: 'there' });

/** True after a request was refused without a session, until one is accepted again. */
export const signedOut = new Watched(false);

/** Version of the daemon that answered last; null if unknown. */
export const daemonVersion = new Watched<string | null>(null);

/** Time since which the daemon's store cannot be written; null if it can. */
export const storeAwaySince = new Watched<string | null>(null);

let answeredAt: Date | null = null;
let onReturn: () => void = () => {};
let probe: ReturnType<typeof setTimeout> | null = null;

/** Registers a function for the moment when the daemon answers, or accepts the user, again. */
export function whenBack(act: () => void): void {
  onReturn = act;
}

export function answered(): void {
  answeredAt = new Date();
  if (reachability.value.is === 'there') return;
  if (probe !== null) clearTimeout(probe);
  probe = null;
  reachability.set({ is: 'there' });
  onReturn();
}

export function notAnswered(): void {
  if (reachability.value.is === 'away') return;
  reachability.set({ is: 'away', since: answeredAt });
  probeIn(firstProbeMs);
}

export function authenticated(): void {
  if (!signedOut.value) return;
  signedOut.set(false);
  onReturn();
}

export function unauthenticated(): void {
  signedOut.set(true);
}

function probeIn(ms: number): void {
  probe = setTimeout(async () => {
    try {
      const response = await fetch(new URL('api/v1/version', document.baseURI), {
        cache: 'no-store',
        signal: AbortSignal.timeout(longestProbeMs),
      });
      if (!response.ok) throw new Error('a proxy answered in its place');
      answered();
    } catch {
      if (reachability.value.is === 'away') probeIn(Math.min(ms * 2, rarestProbeMs));
    }
  }, ms);
}
