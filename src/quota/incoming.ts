/** Decides by the bounds of a push and of a file, which limit incoming bytes, whatever is stored. */

import { boundsAt, type Incoming } from './bounds.ts';
import { boundsOf, isEnforced, type Standing } from './decide.ts';
import type { RuledRefused } from './decision.ts';
import { type BoundScope, type CompiledGroup, isOfIncoming, type QuotaSettings } from './policy.ts';
import { noUsage, type Subject } from './subjects.ts';

interface OwnerPolicy {
  readonly settings: QuotaSettings;
  readonly standing: Standing;
}

interface IncomingDecision {
  /** Null: no bound of a push or a file refuses. */
  readonly refused: RuledRefused | null;
  /** Bounds that apply but could not be checked, because the size of the push or file is unknown. */
  readonly unasked: readonly BoundScope[];
}

/** Decides about incoming data by the bounds of a push and of a file. */
export function decideIncoming(
  { settings, standing }: OwnerPolicy,
  subject: Subject,
  incoming: Incoming,
): IncomingDecision {
  if (!settings.enabled || standing.bounds === undefined) return { refused: null, unasked: [] };
  // Bounds of stored bytes cannot be checked, since the question has none.
  const question = { settings, standing, subject, incoming, usage: noUsage };
  const { refused, unasked } = boundsOf(question, standing, isEnforced(settings));
  return { refused, unasked: unasked.filter(per => per === 'push' || per === 'file') };
}

/**
 * Returns the size above which an incoming file may matter to a rule, in force or not; null: no rule limits
 * files.
 */
export function leastFileBytes({ settings, standing }: OwnerPolicy, subject: Subject): number | null {
  if (!settings.enabled) return null;
  const limits = boundGroups(standing)
    .flatMap(group => boundsAt('file', [group], subject, null))
    .flatMap(({ rules }) => rules.filter(({ limitBytes }) => limitBytes !== -1));
  if (limits.length === 0) return null;
  // The least size that reaches a threshold of the rule.
  const reached = limits.map(({ limitBytes, warnAt = settings.warnAt }) =>
    Math.ceil((limitBytes / 100) * Math.min(100, ...warnAt)),
  );
  return Math.max(0, Math.min(...reached) - 1);
}

/** Tells whether a rule, in force or not, limits repositories. */
export function hasRepositoryBounds(standing: Standing): boolean {
  return boundGroups(standing).some(({ rules }) => rules.some(({ per }) => per === 'repository'));
}

/** Tells whether a rule, in force or not, limits pushes or files. */
export function hasIncomingBounds(standing: Standing): boolean {
  return boundGroups(standing).some(({ rules }) => rules.some(isOfIncoming));
}

function boundGroups({ bounds, reporting, warning }: Standing): readonly CompiledGroup[] {
  return [bounds, reporting?.bounds, warning?.bounds].flatMap(groups =>
    groups === undefined ? [] : [...groups.assigned, ...groups.defaults],
  );
}
