/** Ends programs with all that they started: each leads a group of its own. */

import { constants, setPriority } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { systemCode } from '../errors.ts';

/** A program that is asked to end has so long for it. */
export const endingMs = 10_000;
const lookAgainMs = 5;

/** Kills a program and whatever it started. */
export function killGroup(pid: number | undefined, how: NodeJS.Signals = 'SIGKILL'): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, how);
  } catch {
    // It ended by itself meanwhile.
  }
}

/** Kills what of a group still runs after a time. Resolves once nothing does, or it cannot be killed. */
export async function endGroup(pid: number | undefined, graceMs = 0): Promise<void> {
  for (const begun = performance.now(); isGroupAlive(pid); await delay(lookAgainMs)) {
    const tookMs = performance.now() - begun;
    if (tookMs > graceMs + endingMs) return;
    if (tookMs >= graceMs) killGroup(pid);
  }
}

export function isGroupAlive(pid: number | undefined): boolean {
  if (pid === undefined) return false;
  try {
    process.kill(-pid, 0);
    return true;
  } catch (error) {
    return systemCode(error) === 'EPERM';
  }
}

export function lowerPriority(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    setPriority(pid, constants.priority.PRIORITY_LOW);
  } catch {
    // It ended by itself meanwhile.
  }
}

/** Ends a program when the signal comes; `end` stops waiting for it. */
export function endWith(signal: AbortSignal | undefined, pid: number | undefined): { end(): void } {
  let overdue: NodeJS.Timeout | undefined;
  const stop = (): void => {
    killGroup(pid, 'SIGTERM');
    overdue = setTimeout(() => killGroup(pid), endingMs);
  };
  if (signal?.aborted === true) stop();
  else signal?.addEventListener('abort', stop, { once: true });
  return {
    end: () => {
      clearTimeout(overdue);
      signal?.removeEventListener('abort', stop);
    },
  };
}
