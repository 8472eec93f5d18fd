/** Repositories that no template matches, so that the daemon knows nothing of them. */

import { lstatSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { readBounded } from '../bounded/index.ts';
import { isOurs } from '../git/index.ts';
import { makeFinding } from '../health/index.ts';
import { encodePath, parseTemplate } from '../layout/index.ts';
import { counted, printable } from '../text/index.ts';
import type { Finding } from '../wire/index.ts';
import type { CheckResult } from './check-result.ts';
import type { Installation } from './installation.ts';
import { setKey, softquota } from './mend.ts';
import type { Repositories } from './repositories.ts';

const gitoliteAdmin = 'gitolite-admin.git';

export function checkUnmanaged(installation: Installation, { unmanaged, roots }: Repositories): CheckResult {
  // gitolite's own configuration lies there, has no owner, and stays where it is.
  const found = unmanaged.filter(path => basename(path) !== gitoliteAdmin);
  const hooked = found.filter(isMeantToAsk);
  const others = found.filter(path => !isMeantToAsk(path));
  return {
    findings: [
      ...told(
        'unknown_repository',
        hooked,
        'has the hooks, but is not matched by any PATH, so every push is allowed',
      ),
      ...told('unmanaged_repository', others, 'not matched by any PATH, so not counted'),
    ],
    checked: [`${counted(roots.length, 'storage root', 'storage roots')}`],
  };

  /** The hooks that gitolite links into all of its repositories, gitolite-admin included. */
  function isMeantToAsk(path: string): boolean {
    const hook = hookAt(`${path}/hooks/pre-receive`);
    return hook !== null && (!hook.isLink || templateFor(path, roots) !== null);
  }

  function told(
    code: 'unknown_repository' | 'unmanaged_repository',
    paths: readonly string[],
    what: string,
  ): Finding[] {
    const [first] = paths;
    if (first === undefined) return [];
    const more = paths.length === 1 ? '' : ` (and ${paths.length - 1} more)`;
    return [makeFinding(code, `${printable(first)}: ${what}${more}`, mendFor(first, code))];
  }

  function mendFor(path: string, code: 'unknown_repository' | 'unmanaged_repository'): string {
    const template = templateFor(path, roots);
    const repos = installation.loaded.config.storages.find(({ kind }) => kind === 'repos');
    const templates = repos?.templates ?? [];
    if (template !== null && !templates.includes(template)) {
      const paths = [...templates, template].join(', ');
      return setKey(installation, 'storage.repos', 'PATH', paths, 'reload');
    }
    if (unmanaged.some(each => each === join(dirname(path), gitoliteAdmin)))
      return 'if it should count, give it a name in gitolite.conf that a template matches, such as OWNER/NAME';
    if (code === 'unmanaged_repository')
      return 'if it should count, move it to a path that a template matches';
    const remove = softquota({ ...installation.context, configOption: null }, 'hooks remove', path);
    return `move it to a path that a template matches, or remove its hooks: ${remove}`;
  }
}

/** Our hook there; null where there is none. */
function hookAt(path: string): { readonly isLink: boolean } | null {
  try {
    const file = readBounded(encodePath(path), { follow: true });
    if (!isOurs('pre-receive', file)) return null;
    return { isLink: lstatSync(encodePath(path)).isSymbolicLink() };
  } catch {
    return null;
  }
}

/** A template that would match it, below the nearest storage root, where its path names an owner. */
function templateFor(path: string, roots: Repositories['roots']): string | null {
  const root = roots
    .map(each => each.path)
    .filter(each => path.startsWith(`${each}/`))
    .sort((a, b) => b.length - a.length)[0];
  if (root === undefined) return null;
  const names = path.slice(root.length + 1).split('/');
  if (names.length < 2) return null;
  const template = `${root}/{owner}/{repo}${path.endsWith('.git') ? '.git' : ''}`;
  return parseTemplate(template).ok ? template : null;
}
