/** Reads the facts of a repository for a judgement: its refs, and the settings by which git takes pushes. */

import { readdir } from 'node:fs/promises';
import { readBounded, runProgram } from '../../../bounded/index.ts';
import { decodePath, encodePath } from '../../../layout/index.ts';
import { withoutEnd } from '../../../text/index.ts';
import { inLatin1 } from '../files.ts';
import { UnusableRepository } from '../space/repository-config.ts';
import type { RepositoryView, RunLimits } from '../space/view.ts';
import type { ReceiveSettings, Refs } from './changes.ts';

const configMs = 10_000;
const mostWorktrees = 1000;
const longestHead = 4096;

export async function refsOf(view: RepositoryView, limits: RunLimits): Promise<Refs> {
  const values = new Map<string, string>();
  const symbolic = new Set<string>();
  const format = '--format=%(objectname) %(refname) %(if)%(symref)%(then)=%(end)';
  await view.lines([{ args: ['for-each-ref', format] }], limits, line => {
    const [object = '', name = '', mark = ''] = line.split(' ');
    if (mark === '=') symbolic.add(name);
    else values.set(name, object);
  });
  const head = headAt(view.path);
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

function headAt(path: string): { readonly branch: string | null; readonly object: string | null } {
  const file = readBounded(encodePath(`${path}/HEAD`), { mostBytes: longestHead });
  const text = file.kind === 'file' ? file.bytes.toString('latin1') : '';
  const [, branch = null] = /^ref:\s*(\S+)/.exec(text) ?? [];
  const [, object = null] = /^([0-9a-f]{40,64})\s*$/.exec(text) ?? [];
  return { branch, object };
}

/**
 * The settings of the repository, and of the user and the system that git takes pushes as. Where a file of
 * the latter cannot be read, it rejects with an `UnusableRepository`.
 */
export async function receiveSettingsOf(
  view: RepositoryView,
  hidden: readonly string[],
  signal: AbortSignal,
): Promise<ReceiveSettings> {
  const { HOME, XDG_CONFIG_HOME, GIT_CONFIG_NOSYSTEM } = process.env;
  const { status, output } = await runProgram(
    view.program.program,
    ['config', '--null', '--get-regexp', String.raw`^(receive\.deny.*|(receive|transfer)\.hiderefs)$`],
    { timeoutMs: configMs, env: { HOME, XDG_CONFIG_HOME, GIT_CONFIG_NOSYSTEM, GIT_DIR: '/nowhere' }, signal },
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
      // One that shows refs again hides none.
      .filter(each => !each.startsWith('!'))
      .map(each => inLatin1(withoutEnd(each.replace(/^\^/, ''), '/'))),
  };
}

/** The entries that `git config -z` prints, each ended by NUL; one without a value is true. */
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

/** Returns git's action by such a setting; `refuse` where there is none. */
function action(value: string | null): 'ignore' | 'refuse' | 'update' {
  if (value === null) return 'refuse';
  const word = value.toLowerCase();
  if (word === 'updateinstead') return 'update';
  return word === 'ignore' || word === 'warn' || !isOn(value) ? 'ignore' : 'refuse';
}
