/** Units that are as an earlier walk found them, which a signature tells without a walk. */

import { holdsRepositories, type PlacedUnit } from '../layout/index.ts';
import type { Cache } from './cache.ts';
import type { Task, TaskResult, WalkedUnit } from './messages.ts';
import type { Unchanged, WalkRequest } from './outcome.ts';
import { noQuarantines } from './quarantine.ts';
import { noSigns } from './repack-signs.ts';
import { noCounts } from './shared.ts';
import { isSignatureCurrent } from './signature.ts';
import type { Pulse } from './visit.ts';

/** The result of the last walk, where the signature says that nothing has changed since; null elsewhere. */
export function unchangedSince(
  request: WalkRequest,
  cache: Cache,
  pulse: Pulse,
): Unchanged | { readonly outcome: 'stopped' } | null {
  const { unit, knownBytes } = request;
  const signature = cache.readSignature(unit.path);
  if (signature === null || signature.bytes !== knownBytes) return null;
  const holds = isSignatureCurrent(request, signature, () => pulse(noCounts));
  if (holds === false) return null;
  const { bytes, files, directories, objectBytes } = signature;
  if (holds === null || !pulse(signature)) return { outcome: 'stopped' };
  return { outcome: 'unchanged', bytes, files, directories, objectBytes };
}

/** The result that a walk would have had. */
export function walkedAgain({ unit, inner }: PlacedUnit, unchanged: Unchanged): WalkedUnit {
  const { bytes, files, directories, objectBytes } = unchanged;
  const nothing = { signs: noSigns, before: noQuarantines, after: noQuarantines };
  return {
    outcome: 'measured',
    bytes,
    files,
    directories,
    partial: false,
    unread: [],
    unreadCount: 0,
    leftovers: [],
    leftoverCount: 0,
    objects: holdsRepositories(unit.kind) ? { bytes: objectBytes, ...nothing } : null,
    unit,
    inner,
  };
}

/** The result for those who need not know that there was no walk. */
export function taskResult(task: Task, result: TaskResult | Unchanged): TaskResult {
  if (result.outcome !== 'unchanged') return result;
  // Only units that a sweep has found are compared.
  if (!('unit' in task)) return { outcome: 'failed', why: `${task.path} was compared, and not walked` };
  return walkedAgain(task, result);
}
