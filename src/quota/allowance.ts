/**
 * Allowances in a decision: extra bytes of an owner on top of what the rules say.
 *
 * They raise every limit that limits: whoever is given 2 GB more may store 2 GB more, whichever of the rules
 * is the tightest. A limit of 0 stays 0, since it says that the owner may not store this at all, and not how
 * much.
 */

import type { ActiveAllowance, CompiledGroup } from './policy.ts';

const most = Number.MAX_SAFE_INTEGER;

/**
 * Gives a group whose limits are raised, each rule with the allowance that it was raised by; limits -1 and 0
 * stay, and none passes 2^53 - 1.
 */
export function raisedGroup<Group extends Pick<CompiledGroup, 'rules'>>(
  group: Group,
  allowance: ActiveAllowance,
): Group {
  const rules = group.rules.map(rule =>
    rule.limitBytes <= 0
      ? rule
      : { ...rule, limitBytes: Math.min(rule.limitBytes + allowance.bytes, most), allowance },
  );
  return { ...group, rules };
}
