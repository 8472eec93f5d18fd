/** Findings about the git user's worker, and about what it found. */

import { counted, formatBytes, printable } from '../text/index.ts';
import { version } from '../version.ts';
import { type Finding, listed, makeFinding } from './make-finding.ts';
import { type Observed, type ObservedWorker, staleForgiveness, workerSilentMs } from './observed.ts';

export function workerFindings({ worker, now }: Pick<Observed, 'now' | 'worker'>): Finding[] {
  return [...presence(worker), ...held(worker, now), ...gits(worker)];
}

function presence(worker: ObservedWorker): Finding[] {
  const { isWanted, collects, isForgiving, state, silentMs } = worker;
  const isSilent = silentMs > workerSilentMs;
  if (!isWanted && !collects && !isForgiving)
    return [...(isSilent ? broken(worker) : []), ...garbage(worker)];
  if (isSilent) {
    return [
      ...broken(worker),
      makeFinding(
        'worker_missing',
        `no worker has reported for ${Math.round(silentMs / 1000)} seconds, so ${missed(worker)}`,
        'systemctl enable --now softquota-worker  # or run softquota worker as the user that git runs as',
      ),
    ];
  }
  if (state === null) return garbage(worker);
  const restart = 'systemctl restart softquota-worker';
  const outdated =
    state.version === version
      ? []
      : [
          makeFinding(
            'worker_outdated',
            `the worker is version ${printable(state.version)}, the daemon ${version}`,
            restart,
          ),
        ];
  if (!isWanted) return [...outdated, ...garbage(worker)];
  if (state.hooks === null) {
    return [
      ...outdated,
      ...garbage(worker),
      makeFinding('worker_idle', 'the worker was started before [hooks] KEEP = true was set', restart),
    ];
  }
  const { unguarded, put_back: putBack } = state.hooks;
  return [
    ...outdated,
    ...garbage(worker),
    ...listed(unguarded, ({ path, why }) =>
      makeFinding(
        'repository_unguarded',
        `${printable(path)} has no working hooks, and the worker cannot put them in: ${printable(why)}`,
        'fix this; the worker then continues by itself',
      ),
    ),
    ...(putBack.count === 0
      ? []
      : [
          makeFinding(
            'hooks_replaced',
            `the hooks were taken out or replaced ${counted(putBack.count, 'time', 'times')}, and put back, the last in ${printable(putBack.last ?? '')}`,
            'nothing, if the forge did this; docs/forges/hooks.md tells what makes it leave them alone',
          ),
        ]),
  ];
}

/** The tasks that nobody does without a worker. */
function missed({ isWanted, collects, isForgiving, silentMs }: ObservedWorker): string {
  return [
    ...(isWanted ? ['new repositories get no hooks'] : []),
    ...(collects ? ['nothing that is deleted frees space'] : []),
    ...(isForgiving ? [staleForgiveness(silentMs)] : []),
  ].join(', and ');
}

function broken({ leavesBroken }: ObservedWorker): Finding[] {
  if (!leavesBroken) return [];
  return [
    makeFinding(
      'broken_pushes',
      'no worker runs, and receive-pack does not ask before a push comes: what broken pushes leave behind counts, and stays until git removes it after two weeks',
      'systemctl enable --now softquota-worker  # or set up softquota receive-pack: docs/receive-pack.md',
    ),
  ];
}

const longPushMs = 3_600_000;

/** Pushes that do not end. */
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

/** Gits that take pushes, and do not judge them. */
function gits({ otherGits }: ObservedWorker): Finding[] {
  return otherGits.map(path =>
    makeFinding(
      'other_git',
      `pushes come by the git in ${printable(path)}, and the worker judges them by another one`,
      'add that git to [reclaim] GIT, and restart the worker',
    ),
  );
}

/** Less is left for the administrator to notice. */
const muchGarbageBytes = 1_000_000_000;

function garbage({ collects, unreachableBytes, failing }: ObservedWorker): Finding[] {
  const isMuch = !collects && unreachableBytes >= muchGarbageBytes;
  return [
    ...(isMuch
      ? [
          makeFinding(
            'garbage',
            `${formatBytes(unreachableBytes)} in repositories are reachable from no ref, and nothing deletes them`,
            'set [reclaim] RUN = gc and restart the worker, or run softquota reclaim now and then',
          ),
        ]
      : []),
    ...listed(failing, ({ path, why }) =>
      makeFinding(
        'garbage_failing',
        `${printable(path)}: what is unreachable cannot be measured or collected: ${printable(why)}`,
        'fix what the message names; the worker tries again by itself',
      ),
    ),
  ];
}
