/** Findings about the git user's worker, and about what it found. */

import { formatBytes, printable } from '../text.ts';
import { version } from '../version.ts';
import type { Finding } from '../wire/index.ts';
import { listed, makeFinding } from './catalog.ts';
import { type Observed, type ObservedWorker, staleForgiveness, workerSilentMs } from './observed.ts';

const start = 'systemctl enable --now softquota-worker';
const restart = 'systemctl restart softquota-worker';

export function* workerFindings({ worker, now }: Pick<Observed, 'now' | 'worker'>): Generator<Finding> {
  yield* presence(worker);
  yield* held(worker, now);
  for (const path of worker.otherGits) {
    const message = `pushes come by the git in ${printable(path)}, and the worker judges them by another one`;
    yield makeFinding('other_git', message, 'add that git to [reclaim] GIT, and restart the worker');
  }
}

function* presence(worker: ObservedWorker): Generator<Finding> {
  const { isWanted, collects, isForgiving, leavesBroken, state, silentMs } = worker;
  const isNeeded = isWanted || collects || isForgiving;
  const isSilent = silentMs > workerSilentMs;
  if (isSilent && leavesBroken) {
    const message =
      'no worker runs, and receive-pack does not ask before a push comes: what broken pushes leave behind counts, and stays until git removes it after two weeks';
    const mend = `${start}  # or set up softquota receive-pack: docs/receive-pack.md`;
    yield makeFinding('broken_pushes', message, mend);
  }
  if (isSilent && isNeeded) {
    const message = `no worker has reported for ${Math.round(silentMs / 1000)} seconds, so ${missed(worker)}`;
    const mend = `${start}  # or run softquota worker as the user that git runs as`;
    yield makeFinding('worker_missing', message, mend);
    return;
  }
  if (isNeeded && state !== null && state.version !== version) {
    const message = `the worker is version ${printable(state.version)}, the daemon ${version}`;
    yield makeFinding('worker_outdated', message, restart);
  }
  yield* garbage(worker);
  if (!isWanted || state === null) return;
  if (state.hooks === null) {
    yield makeFinding('worker_missing', 'the worker was started before [hooks] KEEP = true was set', restart);
    return;
  }
  yield* listed(state.hooks.unguarded, ({ path, why }) => {
    const message = `${printable(path)} has no working hooks, and the worker cannot put them in: ${printable(why)}`;
    return makeFinding('repository_unguarded', message, 'fix this; the worker then continues by itself');
  });
}

/** The effects of a missing worker. */
function missed({ isWanted, collects, isForgiving, silentMs }: ObservedWorker): string {
  return [
    ...(isWanted ? ['new repositories get no hooks'] : []),
    ...(collects ? ['nothing that is deleted frees space'] : []),
    ...(isForgiving ? [staleForgiveness(silentMs)] : []),
  ].join(', and ');
}

const longPushMs = 3_600_000;

/** Findings about pushes that do not end. */
function held({ state, silentMs }: ObservedWorker, now: number): Finding[] {
  if (state === null || silentMs > workerSilentMs) return [];
  const long = state.quarantines.held.filter(({ since }) => now - since > longPushMs);
  return listed({ first: long, count: long.length }, ({ unit, name, bytes, since }) =>
    makeFinding(
      'long_push',
      `${printable(unit)}: a push that began at ${new Date(since).toISOString()} holds ${formatBytes(bytes)} in ${printable(name)}, and its receive-pack still runs`,
      'end that git receive-pack if its client is gone; a limit of time in sshd or the web server ends it by itself',
    ),
  );
}

/** Completes a mend that sets a key in `[reclaim]`: daemon and worker read it at their start. */
export function andWorker(mend: string, command = restart): string {
  return `${mend}, and the worker: ${command}`;
}

/** Less garbage is no finding. */
const muchGarbageBytes = 1_000_000_000;

function* garbage({ collects, unreachableBytes, failing }: ObservedWorker): Generator<Finding> {
  if (!collects && unreachableBytes >= muchGarbageBytes) {
    const message = `${formatBytes(unreachableBytes)} in repositories are reachable from no ref, and nothing deletes them`;
    const mend = andWorker('set [reclaim] RUN = gc; then restart the daemon');
    yield makeFinding('garbage', message, `${mend}; or run softquota reclaim now and then`);
  }
  yield* listed(failing, ({ path, why }) => {
    const message = `${printable(path)}: what is unreachable cannot be measured or collected: ${printable(why)}`;
    return makeFinding(
      'garbage_failing',
      message,
      'fix what the message names; the worker tries again by itself',
    );
  });
}
