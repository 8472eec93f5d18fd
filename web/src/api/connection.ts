/**
 * Tells whether the daemon answers, and whether it knows who asks.
 *
 * Every question tells here how it went. While nobody answers, the daemon's version is asked for again and
 * again, less and less often; `onReturn` is called once it answers, so that pages recover by themselves.
 */

import { Watched } from './watched.ts';

export type Reachability =
  | { readonly is: 'there' }
  /** Figures on the page are from then, at the latest; null: there never was an answer. */
  | { readonly is: 'away'; readonly since: Date | null };

const firstProbeMs = 500;
const rarestProbeMs = 10_000;

export const reachability = new Watched<Reachability>({ is: 'there' });

/** True from the first question that was refused for want of a session until one is let in again. */
export const signedOut = new Watched(false);

/** Version of the daemon that answered last, if it said so. */
export const daemonVersion = new Watched<string | null>(null);

/** Time since which the daemon's store takes nothing, as the daemon says; null: it takes what is written. */
export const storeAwaySince = new Watched<string | null>(null);

let answeredAt: Date | null = null;
let onReturn: () => void = () => {};
let probe: ReturnType<typeof setTimeout> | null = null;

/** Registers an action for when the daemon answers again, or lets the user in again. */
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
      const response = await fetch(new URL('api/v1/version', document.baseURI), { cache: 'no-store' });
      if (!response.ok) throw new Error('a proxy answered in its place');
      answered();
    } catch {
      if (reachability.value.is === 'away') probeIn(Math.min(ms * 2, rarestProbeMs));
    }
  }, ms);
}
