/** Data that a push brings, for the limits of pushes and files; and advice for a file that is refused. */

import type { QuarantineLook } from '../../layout/index.ts';
import {
  decideIncoming,
  type Incoming,
  type IncomingFile,
  type Leaf,
  leastFileBytes,
} from '../../quota/index.ts';
import { type JudgedPush, workerAnswers } from '../../wire/index.ts';
import { longestLine } from '../refusal-text.ts';
import type { Decided, GateServices, PushWorker } from '../services.ts';
import type { Arriving, PushPlace } from './facts.ts';

/**
 * Milliseconds from the question until the search for large files ends. An answer may take half of the five
 * seconds that the hook waits.
 */
const filesWithinMs = 2300;
export const answeredWithinMs = 4500;

/** Returns the milliseconds that are left until `withinMs` after the question. */
export function leftMs(askedAt: number, withinMs: number): number {
  return Math.max(0, askedAt + withinMs - performance.now());
}

/**
 * Milliseconds from the question until the quarantine has to be measured; the hook waits for five seconds.
 */
const lookedWithinMs = 3000;
const leastLookMs = 500;

/**
 * Returns the time limit for measuring a quarantine. It is never 0: a quarantine that is not measured would
 * count as empty.
 */
export function lookMs(askedAt: number): number {
  return Math.max(leastLookMs, leftMs(askedAt, lookedWithinMs));
}

interface BroughtBy {
  readonly place: PushPlace;
  readonly arriving: Arriving;
  /** Null if there is no quarantine to measure. */
  readonly look: QuarantineLook | null;
  /** Time of the question on the monotonic clock. */
  readonly askedAt: number;
}

/** Describes the data of a push; its files are searched only if a rule limits them. Never rejects. */
export async function incomingBy(
  parts: Pick<GateServices, 'ledger' | 'pushes'>,
  brought: BroughtBy,
): Promise<Incoming> {
  const { arriving, look } = brought;
  const bytes = look?.is === 'seen' ? look.quarantine.bytes : arriving.in === 'nothing' ? 0 : null;
  return { bytes, largest: await largestFile(parts, brought) };
}

/**
 * Returns the largest file: with 0 bytes if none is over a limit, null if unknown or if no rule limits files.
 */
async function largestFile(
  { ledger, pushes }: Pick<GateServices, 'ledger' | 'pushes'>,
  { place, arriving, look, askedAt }: BroughtBy,
): Promise<IncomingFile | null> {
  const { settings } = ledger;
  const owner = ledger.ownerUsage(place.ownerName);
  const overBytes = leastFileBytes({ settings, standing: ledger.standing(owner) }, place.leaf);
  if (overBytes === null) return null;
  const isEmpty = look?.is === 'seen' ? look.quarantine.sample === null : arriving.in === 'nothing';
  if (isEmpty) return { bytes: 0 };
  const deadlineMs = leftMs(askedAt, filesWithinMs);
  if (place.unit === null || arriving.in !== 'quarantine' || look?.is !== 'seen' || deadlineMs === 0)
    return null;
  const found = await pushes.largeFiles(place.unit.path, arriving.name, overBytes, deadlineMs);
  return found.is === 'unknown' ? null : (found.blobs[0] ?? { bytes: 0 });
}

/** Returns the refusal by a limit of pushes or files if there is one, otherwise `decided`. */
export function orByIncoming(
  ledger: GateServices['ledger'],
  leaf: Leaf,
  incoming: Incoming,
  decided: Decided,
): Decided {
  const { settings } = ledger;
  const policy = { settings, standing: ledger.standing(decided.owner) };
  const { refused } = decideIncoming(policy, leaf, incoming);
  return refused === null ? decided : { ...decided, decision: refused };
}

/**
 * Adds the path of a refused file, which the worker searches while the hook waits, and commands that remove
 * it from the push. Never rejects. `task` is null if no worker can search.
 */
export async function explainFile(
  decided: Decided,
  { link, isHere }: Pick<PushWorker, 'isHere' | 'link'>,
  task: Omit<JudgedPush, 'manner'> | null,
  askedAt: number,
): Promise<Decided & { readonly advice: readonly string[] }> {
  const { decision } = decided;
  if (decision.allowed || decision.per !== 'file' || decision.file?.object === undefined) {
    return { ...decided, advice: [] };
  }
  const { file } = decision;
  const { object } = decision.file;
  const deadlineMs = Math.floor(leftMs(askedAt, answeredWithinMs));
  const answer =
    task !== null && isHere && deadlineMs > 0
      ? await link
          .ask({ kind: 'file_path', ...task, object, deadline_ms: deadlineMs }, deadlineMs)
          .catch(() => null)
      : null;
  const { path = null, commands = [] } = workerAnswers.file_path.safeParse(answer).data ?? {};
  if (path === null) {
    const advice = ['To see its name:', `  git rev-list --objects HEAD | grep ${object}`];
    return { ...decided, advice };
  }
  // Longer lines are cut when they are shown, and a part of a command is a different command.
  const advice = commands
    .map(({ what, lines }) => [what, ...lines.map(line => `  ${line}`)])
    .filter(lines => lines.every(line => line.length <= longestLine))
    .flat();
  return { ...decided, decision: { ...decision, file: { ...file, name: path } }, advice };
}
