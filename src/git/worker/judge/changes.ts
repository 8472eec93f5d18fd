/**
 * Changes of refs: those that a push requests, and those that git will make, given the refs of the repository
 * and the settings for pushes. Names are bytes, as Latin-1.
 */

import { readdir } from 'node:fs/promises';
import { readBounded, runProgram } from '../../../bounded/index.ts';
import { decodePath, encodePath } from '../../../layout/index.ts';
import { withoutEnd } from '../../../text.ts';
import { inLatin1 } from '../files.ts';
import { UnusableRepository } from '../space/git.ts';
import type { RepositoryView } from '../space/view.ts';

export interface RefChange {
  readonly old: string;
  readonly new: string;
  readonly name: string;
}

export interface Refs {
  /** Objects by the names of refs, symbolic ones left out, and that of a detached HEAD by `HEAD`. */
  readonly values: ReadonlyMap<string, string>;
  readonly symbolic: ReadonlySet<string>;
  /** The branch that HEAD stands for; null: it is detached. */
  readonly head: string | null;
  /** Branches that are checked out, in the repository itself or a worktree of it. */
  readonly checkedOut: ReadonlySet<string>;
}

export interface ReceiveSettings {
  readonly deniesDeletes: boolean;
  readonly deniesRewinds: boolean;
  /** `receive.denyDeleteCurrent`: the branch of HEAD may not go. */
  readonly keepsHead: boolean;
  /** `receive.denyCurrentBranch`: a branch that is checked out stays as it is. */
  readonly keepsCheckedOut: boolean;
  /** Names of refs, or of folders of refs, to which git takes no push. */
  readonly hidden: readonly string[];
}

const branches = 'refs/heads/';

/** Parses lines `OLD NEW REF`; null if one is not of this form. */
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

export function isNone(id: string): boolean {
  return /^0+$/.test(id);
}

/** Returns the objects to which refs are set. */
export function newObjects(changes: readonly RefChange[]): readonly string[] {
  return changes.map(change => change.new).filter(object => !isNone(object));
}

/**
 * Returns the objects to which refs lead after the push; null if that cannot be predicted. A change that git
 * will refuse counts as not made: with a wrong old value, of a ref that the settings protect or hide, or of a
 * branch to anything but a commit. The new object of such a change counts nevertheless. `kinds`: the kinds of
 * the new objects.
 */
export function tipsAfter(
  refs: Refs,
  changes: readonly RefChange[],
  kinds: ReadonlyMap<string, string>,
  settings: ReceiveSettings,
): readonly string[] | null {
  const values = new Map(refs.values);
  const brought: string[] = [];
  for (const change of changes) {
    const { name } = change;
    // The outcome of two names for one ref is not predicted.
    if (refs.symbolic.has(name)) return null;
    const isBranch = name.startsWith(branches);
    const isAsSaid = (values.get(name) ?? '') === (isNone(change.old) ? '' : change.old);
    // git takes no push to a name outside of refs/.
    const isRef = name.startsWith('refs/');
    const stays =
      !isRef || isHidden(name, settings) || (settings.keepsCheckedOut && refs.checkedOut.has(name));
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

const configMs = 10_000;
const mostWorktrees = 1000;
const longestHead = 4096;

export async function refsOf(view: RepositoryView): Promise<Refs> {
  const values = new Map<string, string>();
  const symbolic = new Set<string>();
  /** The branch to which HEAD leads in the end, also through a symbolic ref. */
  let current: string | null = null;
  const format = '--format=%(objectname) %(refname) %(if)%(symref)%(then)=%(end)%(HEAD)';
  await view.lines([{ args: ['for-each-ref', format] }], line => {
    const [object = '', name = '', mark = ''] = line.split(' ');
    if (mark.startsWith('=')) symbolic.add(name);
    else values.set(name, object);
    if (mark.endsWith('*')) current = name;
  });
  const head = await headOf(view, current);
  if (head.object !== null) values.set('HEAD', head.object);
  const checkedOut = new Set<string>();
  if (view.settings.isBare === false && head.branch !== null) checkedOut.add(head.branch);
  const worktrees = await readdir(encodePath(`${view.path}/worktrees`), { encoding: 'buffer' }).catch(
    () => [],
  );
  for (const name of worktrees.slice(0, mostWorktrees)) {
    const { branch } = headAt(`${view.path}/worktrees/${decodePath(name)}`);
    if (branch !== null) checkedOut.add(branch);
  }
  return { values, symbolic, head: head.branch, checkedOut };
}

interface Head {
  readonly branch: string | null;
  /** Set where HEAD is detached. */
  readonly object: string | null;
}

/** Returns HEAD as git reads it. In reftable format the file HEAD says nothing. */
async function headOf(view: RepositoryView, current: string | null): Promise<Head> {
  if (current !== null) return { branch: current, object: null };
  if (view.settings.refStorage === 'files') return headAt(view.path);
  const object = await view.git(['rev-parse', '-q', '--verify', 'HEAD']).catch((error: unknown) => {
    // It leads to a branch that is not born.
    if (error instanceof UnusableRepository) return '';
    throw error;
  });
  return { branch: null, object: object.trim() || null };
}

function headAt(path: string): Head {
  const file = readBounded(encodePath(`${path}/HEAD`), { mostBytes: longestHead });
  const text = file.kind === 'file' ? file.bytes.toString('latin1') : '';
  const [, branch = null] = /^ref:\s*(\S+)/.exec(text) ?? [];
  const [, object = null] = /^([0-9a-f]{40,64})\s*$/.exec(text) ?? [];
  return { branch, object };
}

/** Tells whether git takes no push to this ref; the name is in Latin-1. */
export function isHidden(name: string, { hidden }: ReceiveSettings): boolean {
  return hidden.some(each => name === each || name.startsWith(`${each}/`));
}

/**
 * Reads the settings for pushes, of the system and the user as which git takes pushes, and of the repository.
 * Rejects with an `UnusableRepository` if a file of the system or the user cannot be read.
 */
export async function receiveSettingsOf(
  view: RepositoryView,
  hidden: readonly string[],
): Promise<ReceiveSettings> {
  const { HOME, XDG_CONFIG_HOME, GIT_CONFIG_NOSYSTEM } = process.env;
  const { status, output } = await runProgram(
    view.program.program,
    ['config', '--null', '--get-regexp', String.raw`^(receive\.deny.*|(receive|transfer)\.hiderefs)$`],
    {
      timeoutMs: configMs,
      env: { HOME, XDG_CONFIG_HOME, GIT_CONFIG_NOSYSTEM, GIT_DIR: '/nowhere' },
      signal: view.limits.signal,
    },
  );
  // 1: there is no such setting.
  if (status !== 0 && status !== 1)
    throw new UnusableRepository('git cannot read the configuration of its user');
  const entries = [...configEntriesIn(output), ...view.settings.receive];
  const value = (key: string): string | null => entries.findLast(([each]) => each === key)?.[1] ?? null;
  const current = action(value('receive.denycurrentbranch'));
  const deleteCurrent = action(value('receive.denydeletecurrent'));
  return {
    deniesDeletes: isOn(value('receive.denydeletes')),
    deniesRewinds: isOn(value('receive.denynonfastforwards')),
    keepsHead: deleteCurrent !== 'ignore',
    keepsCheckedOut: current === 'refuse',
    hidden: [...entries.filter(([key]) => key.endsWith('.hiderefs')).map(([, each]) => each), ...hidden]
      // An entry with `!` shows refs again.
      .filter(each => !each.startsWith('!'))
      .map(each => inLatin1(withoutEnd(each.replace(/^\^/, ''), '/'))),
  };
}

/** Parses the output of `git config -z`, in which NUL ends each entry; a key without a value is true. */
function configEntriesIn(output: string): readonly (readonly [key: string, value: string])[] {
  return output
    .split('\0')
    .filter(entry => entry !== '')
    .map(entry => {
      const end = entry.indexOf('\n');
      return end === -1 ? [entry, 'true'] : [entry.slice(0, end), entry.slice(end + 1)];
    });
}

function isOn(value: string | null): boolean {
  return value !== null && !/^(?:false|no|off|0|)$/i.test(value);
}

/** Returns git's action for the value of such a setting; `refuse` if it is not set. */
function action(value: string | null): 'ignore' | 'refuse' | 'update' {
  if (value === null) return 'refuse';
  const word = value.toLowerCase();
  if (word === 'updateinstead') return 'update';
  return word === 'ignore' || word === 'warn' || !isOn(value) ? 'ignore' : 'refuse';
}
