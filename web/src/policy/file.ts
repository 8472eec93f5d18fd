/** A policy as a file, as `softquota policy export` writes it. */

import type { DraftPolicy, NewWholePolicy } from '../../../src/wire/index.ts';

type ReadPolicy =
  | { readonly ok: true; readonly policy: NewWholePolicy }
  | { readonly ok: false; readonly reason: string };

/** Checks only the outer form of a policy file; the daemon checks what is in the lists. */
export function readPolicy(text: string): ReadPolicy {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (error) {
    return {
      ok: false,
      reason: `This is not valid JSON: ${error instanceof Error ? error.message : String(error)}`,
    };
  }
  if (
    typeof document !== 'object' ||
    document === null ||
    !('rules' in document) ||
    !('groups' in document)
  ) {
    return { ok: false, reason: '"rules" or "groups" is missing. softquota policy export writes both.' };
  }
  const { rules, groups } = document;
  if (!Array.isArray(rules) || !Array.isArray(groups)) {
    return { ok: false, reason: '"rules" and "groups" have to be lists.' };
  }
  const fault = faultIn(groups);
  return fault === null ? { ok: true, policy: { rules, groups } } : { ok: false, reason: fault };
}

/** Returns the first place where the groups have not the form that `trialOf` needs; null if there is none. */
function faultIn(groups: readonly unknown[]): string | null {
  for (const [index, group] of groups.entries()) {
    if (typeof group !== 'object' || group === null) return `groups.${index}: expected an object`;
    const rules = 'rules' in group ? group.rules : null;
    if (rules !== undefined && rules !== null && !Array.isArray(rules)) {
      return `groups.${index}.rules: expected a list`;
    }
  }
  return null;
}

/** Makes a draft of a policy for a trial. */
export function trialOf({ rules, groups }: NewWholePolicy): DraftPolicy {
  return {
    rules,
    groups: groups.map(({ name, rules: named, users, mode }) => ({
      name,
      rules: (named ?? []).map(rule => ({ name: rule })),
      ...(users === undefined || users === null ? {} : { users }),
      mode,
    })),
    settings: {},
  };
}
