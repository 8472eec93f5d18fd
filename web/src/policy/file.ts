/** A policy as a file, as `softquota policy export` writes it. */

import type { DraftPolicy, NewWholePolicy } from '../../../src/wire/index.ts';

type ReadPolicy =
  | { readonly ok: true; readonly policy: NewWholePolicy }
  | { readonly ok: false; readonly reason: string };

/** Checks only the outer form of a policy file; the daemon checks the lists. */
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
  return { ok: true, policy: { rules, groups } };
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
