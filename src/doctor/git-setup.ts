/**
 * Looks at what lies outside of repositories: whether git's users can read git's own configuration, and
 * whether what other programs' configurations name of softquota is there.
 */

import { existsSync } from 'node:fs';
import { homeOf, userWords } from '../accounts.ts';
import { runProgram } from '../bounded/index.ts';
import { commandLine, makeFinding } from '../health/index.ts';
import { printable } from '../text/index.ts';
import type { Finding } from '../wire/index.ts';
import type { CheckResult } from './check-result.ts';
import type { HostContext } from './installation.ts';
import { beginningOf, filesBelow } from './paths.ts';
import { type HookUser, mayAskFor } from './rights.ts';

/** Configuration files of programs that run git: sshd, fcgiwrap, nginx, Apache, and services of systemd. */
const usualPlaces = [
  '/etc/ssh',
  '/etc/nginx',
  '/etc/apache2',
  '/etc/httpd',
  '/etc/default',
  '/etc/systemd/system',
];
const mostFiles = 2000;
const mostBytes = 256 * 1024;
const deepest = 4;
const timeoutMs = 10_000;

export async function checkGitSetup(
  context: HostContext,
  users: readonly HookUser[],
  places: readonly string[] = usualPlaces,
): Promise<CheckResult> {
  const all = [...new Map(users.map(user => [user.uid, user])).values()];
  const asked = all.filter(user => mayAskFor(context.uid, user));
  const homes = asked.flatMap(({ uid }) => homeOf(uid) ?? []);
  const own = homes.flatMap(home => [`${home}/.gitolite.rc`, `${home}/.ssh/authorized_keys`]);
  const files = [...places.flatMap(place => filesBelow(place, deepest)), ...own].slice(0, mostFiles);
  const unread = await Promise.all(asked.map(user => configuration(context, user)));
  return { findings: [...unread.flat(), ...files.flatMap(namedIn)] };
}

/** Without its configuration git does nothing, and so the hooks do nothing. */
async function configuration(context: HostContext, user: HookUser): Promise<readonly Finding[]> {
  const HOME = homeOf(user.uid) ?? '/nonexistent';
  const as = context.uid === user.uid ? {} : { user };
  try {
    const { status, complaint } = await runProgram('git', ['config', '--list'], {
      timeoutMs,
      env: { HOME, LC_ALL: 'C' },
      ...as,
    });
    if (status === 0) return [];
    const file = /'(\/[^']+)': Permission denied/.exec(complaint)?.[1];
    const message = `git does nothing as ${userWords(user.uid)}: ${complaint}`;
    const mend = file === undefined ? 'correct the file that git names' : commandLine('chmod', 'a+r', file);
    return [makeFinding('git_config', printable(message), mend)];
  } catch {
    return []; // without git there is a finding already
  }
}

function namedIn(file: string): readonly Finding[] {
  const lines = beginningOf(file, { mostBytes, follow: true }).split('\n');
  return lines.flatMap((line, index) => {
    if (/^\s*#/.test(line)) return [];
    const named = [...line.matchAll(/\bGIT_EXEC_PATH[=\s"']+(\/[^\s"':;]+)/g)].map(([, path = '']) => path);
    const ofHooks = line.split(/[\s"'=:;]/).filter(isOfHooks);
    return [...new Set([...named, ...ofHooks])]
      .filter(path => !existsSync(path))
      .map(path => missing(`${file}:${index + 1}`, path));
  });
}

/** Tells whether it is the path of a hook of softquota. */
function isOfHooks(word: string): boolean {
  const at = word.startsWith('/') ? word.indexOf('softquota') : -1;
  return at !== -1 && word.slice(at).includes('/hooks/') && !word.endsWith('/hooks/');
}

function missing(where: string, path: string): Finding {
  const message = `${printable(where)} names ${printable(path)}, which is not there: git runs as if softquota were not`;
  const mend =
    'write /usr/lib/softquota/hooks/receive-pack, where every installation has it; then restart the program';
  return makeFinding('named_missing', message, mend);
}
