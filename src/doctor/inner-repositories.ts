/**
 * Folders inside of repositories that git would take for repositories of their own: who pushes to such a path
 * meets no hook of the repository around it.
 */

import { lstatSync, readdirSync } from 'node:fs';
import { makeFinding } from '../health/index.ts';
import { decodePath, encodePath } from '../layout/index.ts';
import { counted, printable } from '../text/index.ts';
import type { Finding } from '../wire/index.ts';
import type { CheckResult } from './check-result.ts';
import type { HostContext } from './installation.ts';
import { asUser, softquota } from './mend.ts';
import type { Repository } from './repositories.ts';

/** Directories that are looked into, in a repository and in all together. */
const mostOfOne = 2000;
const mostOfAll = 100_000;

export function checkInnerRepositories(
  context: HostContext,
  repositories: readonly Repository[],
): CheckResult {
  let left = mostOfAll;
  const findings: Finding[] = [];
  for (const { path, user } of repositories) {
    for (const below of ['refs', 'logs', 'modules']) {
      const { inner, looked } = innerBelow(`${path}/${below}`, Math.min(left, mostOfOne));
      left -= looked;
      const [first] = inner;
      if (first === undefined) continue;
      const others = inner.length === 1 ? '' : ` (and ${inner.length - 1} more)`;
      const message = `${printable(first)}: git takes this for a repository without hooks${others}`;
      const name = first.slice(path.length + 1);
      const mend =
        below === 'modules'
          ? softquota(context, 'hooks install', path)
          : below === 'refs'
            ? asUser(context, user.uid, 'git', '-C', path, 'update-ref', '-d', `${name}/HEAD`)
            : asUser(context, user.uid, 'rm', `${first}/HEAD`);
      findings.push(makeFinding('inner_repository', message, mend));
    }
  }
  return {
    findings,
    checked: [`the folders inside of ${counted(repositories.length, 'repository', 'repositories')}`],
  };
}

function innerBelow(root: string, most: number): { inner: readonly string[]; looked: number } {
  const inner: string[] = [];
  const waiting = [root];
  let looked = 0;
  for (let path = waiting.pop(); path !== undefined && looked < most; path = waiting.pop()) {
    looked += 1;
    const names = namesIn(path);
    if (names.has('HEAD') && (names.has('objects') || names.has('commondir')) && !isGuarded(path))
      inner.push(path);
    for (const [name, isDirectory] of names)
      if (isDirectory && name !== 'objects') waiting.push(`${path}/${name}`);
  }
  return { inner, looked };
}

/** With the hook in it, a push there is asked about. */
function isGuarded(path: string): boolean {
  return lstatSync(encodePath(`${path}/hooks/pre-receive`), { throwIfNoEntry: false }) !== undefined;
}

function namesIn(path: string): ReadonlyMap<string, boolean> {
  try {
    const entries = readdirSync(encodePath(path), { withFileTypes: true, encoding: 'buffer' });
    return new Map(entries.map(entry => [decodePath(entry.name), entry.isDirectory()]));
  } catch {
    return new Map(); // gone, or not to be read: other findings say that
  }
}
