/** Changes of refs: those that a push asks for, and those that git will make. Names are bytes, as Latin-1. */

import { inLatin1 } from '../files.ts';

export interface RefChange {
  readonly old: string;
  readonly new: string;
  readonly name: string;
}

export interface Refs {
  /** Objects by the names of refs, symbolic ones left out, and that of a detached HEAD by `HEAD`. */
  readonly values: ReadonlyMap<string, string>;
  /** Those that only stand for others. */
  readonly symbolic: ReadonlySet<string>;
  /** The branch that HEAD stands for; null: it is detached. */
  readonly head: string | null;
  /** Branches that are checked out, in the repository itself or a worktree of it. */
  readonly checkedOut: ReadonlySet<string>;
}

/** The settings of git by which it denies changes, and hides refs. */
export interface ReceiveSettings {
  readonly deniesDeletes: boolean;
  readonly deniesRewinds: boolean;
  /** `receive.denyDeleteCurrent`: the branch of HEAD may not go. */
  readonly keepsHead: boolean;
  /** `receive.denyCurrentBranch`: a branch that is checked out stays as it is. */
  readonly keepsCheckedOut: boolean;
  /** Names of refs, or what they begin with. */
  readonly hidden: readonly string[];
}

const branches = 'refs/heads/';

/** The lines `OLD NEW REF`; null where one is none. */
export function changesIn(lines: string): readonly RefChange[] | null {
  const changes: RefChange[] = [];
  for (const line of inLatin1(lines).split('\n')) {
    if (line === '') continue;
    const [, old, next, name] = /^([0-9a-f]{40,64}) ([0-9a-f]{40,64}) (.+)$/.exec(line) ?? [];
    if (old === undefined || next === undefined || name === undefined) return null;
    changes.push({ old, new: next, name });
  }
  return changes;
}

/** Tells whether an object id stands for none. */
export function isNone(id: string): boolean {
  return /^0+$/.test(id);
}

/**
 * The objects that refs lead to afterwards; null where that is not followed up. What git will not do counts as
 * not done: another old value than the pusher says, what the settings deny or hide, and anything but a commit in
 * a branch. What such a push brings counts nevertheless. `kinds` are the kinds of the new objects.
 */
export function tipsAfter(
  refs: Refs,
  changes: readonly RefChange[],
  kinds: ReadonlyMap<string, string>,
  settings: ReceiveSettings,
): readonly string[] | null {
  const values = new Map(refs.values);
  const brought: string[] = [];
  const isHidden = (name: string): boolean =>
    settings.hidden.some(each => name === each || name.startsWith(`${each}/`));
  for (const change of changes) {
    const { name } = change;
    // The outcome of two names for one ref is not predicted.
    if (refs.symbolic.has(name)) return null;
    const isBranch = name.startsWith(branches);
    const isAsSaid = (values.get(name) ?? '') === (isNone(change.old) ? '' : change.old);
    const stays = isHidden(name) || (settings.keepsCheckedOut && refs.checkedOut.has(name));
    if (isNone(change.new)) {
      const isCurrent = name === refs.head || refs.checkedOut.has(name);
      const isDenied = (settings.deniesDeletes && isBranch) || (settings.keepsHead && isCurrent);
      if (isAsSaid && !stays && !isDenied) values.delete(name);
      continue;
    }
    const isWrong = isBranch && kinds.get(change.new) !== 'commit';
    if (!isAsSaid || stays || isWrong || (settings.deniesRewinds && isBranch)) brought.push(change.new);
    else values.set(name, change.new);
  }
  return [...values.values(), ...brought];
}

/** Tells how much of an ended push was done. A ref that is gone holds nothing. */
export function doneOf(
  values: ReadonlyMap<string, string>,
  changes: readonly RefChange[],
): 'all' | 'none' | 'part' {
  const left = changes.filter(change => {
    const value = values.get(change.name);
    return value !== undefined && value !== change.new;
  });
  if (left.length === 0) return 'all';
  const untouched = changes.filter(({ name, old }) => (values.get(name) ?? '') === (isNone(old) ? '' : old));
  return untouched.length === changes.length ? 'none' : 'part';
}
