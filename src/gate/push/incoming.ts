/** The data that a push brings, for the limits of pushes and files; and how a refused file is taken out. */

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

/** The hook waits for five seconds, and the answer is held back for half of them. */
const filesWithinMs = 2300;
export const answeredWithinMs = 4500;

/** Milliseconds that are left of a time since the question, on the monotonic clock. */
export function leftMs(askedAt: number, withinMs: number): number {
  return Math.max(0, askedAt + withinMs - performance.now());
}

/** From the question on; a hook waits for five seconds in all. */
const lookedWithinMs = 3000;
const leastLookMs = 500;

/** Milliseconds for the look at a quarantine; some even after long waits, or the push would bring nothing. */
export function lookMs(askedAt: number): number {
  return Math.max(leastLookMs, leftMs(askedAt, lookedWithinMs));
}

interface BroughtBy {
  readonly place: PushPlace;
  readonly arriving: Arriving;
  /** Null where there is no quarantine to look at. */
  readonly look: QuarantineLook | null;
  /** On the monotonic clock. */
  readonly askedAt: number;
}

/** Looks at what a push brings; at its files only where a rule is about these. Never rejects. */
export async function incomingBy(
  parts: Pick<GateServices, 'ledger' | 'pushes'>,
  brought: BroughtBy,
): Promise<Incoming> {
  const { arriving, look } = brought;
  const bytes = look?.is === 'seen' ? look.quarantine.bytes : arriving.in === 'nothing' ? 0 : null;
  return { bytes, largest: await largestFile(parts, brought) };
}

/** The largest file; one of 0 bytes where none matters, null where it cannot be told or no rule asks. */
async function largestFile(
  { ledger, pushes }: Pick<GateServices, 'ledger' | 'pushes'>,
  { place, arriving, look, askedAt }: BroughtBy,
): Promise<IncomingFile | null> {
  const { settings } = ledger;
  const owner = ledger.ownerUsage(place.ownerName);
  const overBytes = leastFileBytes({ settings, standing: ledger.standing(owner) }, place.leaf);
  if (overBytes === null) return null;
  const isEmpty = look?.is === 'seen' ? !look.quarantine.hasObjects : arriving.in === 'nothing';
  if (isEmpty) return { bytes: 0 };
  const deadlineMs = leftMs(askedAt, filesWithinMs);
  if (place.unit === null || arriving.in !== 'quarantine' || look?.is !== 'seen' || deadlineMs === 0)
    return null;
  const found = await pushes.largeFiles(place.unit.path, arriving.name, overBytes, deadlineMs);
  return found.is === 'unknown' ? null : (found.blobs[0] ?? { bytes: 0 });
}

/** Returns the refusal of what comes by a limit of a push or a file, where there is one, else the same. */
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
 * Adds where a refused file is, found by the worker as long as the hook waits, and the lines that take it out
 * of the push. Never rejects. `task`: null where no worker can look.
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
  // A longer line is cut where it is shown, and the beginning of a command is another command.
  const advice = commands
    .map(({ what, lines }) => [what, ...lines.map(line => `  ${line}`)])
    .filter(lines => lines.every(line => line.length <= longestLine))
    .flat();
  return { ...decided, decision: { ...decision, file: { ...file, name: path } }, advice };
}
