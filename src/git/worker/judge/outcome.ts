/**
 * The end of a push that was judged and went on: whether git did all of it.
 *
 * A hook may refuse one ref, or a client go away between two: what is to go stays then, and what was to take
 * its place is there as well.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { isQuarantineName, quarantinePath } from '../../../layout/index.ts';
import { identity, isThere } from '../files.ts';
import { pushProcesses, seesAllProcesses } from '../quarantines/processes.ts';
import type { GitProgram } from '../space/git-programs.ts';
import { type RunLimits, withView } from '../space/view.ts';
import { changesIn, doneOf, type RefChange, refsOf } from './changes.ts';
import type { NamedPush } from './judge.ts';

const firstStepMs = 10;
const lastStepMs = 1000;
/** A push whose process cannot be seen has ended after so long. */
const mostMs = 60_000;

/**
 * Resolves once the push has ended: true where all of it was done, or nothing, and nothing was stored.
 * `sample` is of its verdict.
 */
export async function isKept(
  push: NamedPush & { readonly sample: string | null },
  program: GitProgram,
  limits: RunLimits & { readonly isAlone: boolean },
): Promise<boolean> {
  const { path, quarantine, sample } = push;
  const changes = changesIn(push.lines) ?? [];
  const arriving = stepsOf(limits.signal);
  const place = quarantine === null ? null : quarantinePath(path, quarantine);
  if (place !== null) while (await isThere(place)) await arriving.next();
  // Others than git's own are Gitaly's, which works elsewhere than in the repository.
  const isOfGit = quarantine !== null && isQuarantineName(quarantine);
  const isSeen = isOfGit && (await seesAllProcesses(limits.isAlone));
  // git moves the objects first, and writes one ref after the other then.
  const writing = stepsOf(limits.signal);
  for (const begun = performance.now(); ; await writing.next()) {
    const hasEnded = isSeen ? !(await isTaken(path)) : performance.now() - begun > mostMs;
    const done = await doneIn(path, changes, program, limits);
    if (done === 'all') return true;
    if (hasEnded)
      return done === 'none' && (sample === null || !(await isThere(`${path}/objects/${sample}`)));
  }
}

async function doneIn(
  path: string,
  changes: readonly RefChange[],
  program: GitProgram,
  limits: RunLimits,
): Promise<ReturnType<typeof doneOf>> {
  const options = { program, hasReflogs: false };
  const refs = await withView(path, options, { ...limits, isUrgent: true }, refsOf);
  return doneOf(refs.values, changes);
}

/** Tells whether git takes a push there now, as far as its processes can be seen. */
async function isTaken(path: string): Promise<boolean> {
  const directory = await identity(path);
  const processes = await pushProcesses();
  return processes.some(each => each.takesPush && (each.directory ?? directory) === directory);
}

/** Pauses that become longer. They end with the signal, and reject then. */
function stepsOf(signal: AbortSignal): { next(): Promise<void> } {
  let stepMs = firstStepMs;
  return {
    next: async () => {
      await delay(stepMs, undefined, { signal });
      stepMs = Math.min(stepMs * 1.1, lastStepMs);
    },
  };
}
