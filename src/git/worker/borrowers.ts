/**
 * Finds out which repositories lend their objects to others: then nothing of these may be deleted or forgiven,
 * whether their own refs reach it or not.
 */

import { isAbsolute, resolve } from 'node:path';
import { readBounded } from '../../bounded/index.ts';
import { decodePath, encodePath } from '../../layout/index.ts';
import { identity } from './files.ts';
import type { Pace } from './repository-walk.ts';

const mostAlternates = 100;

/** Returns the object directories that these repositories borrow from, as `identity` gives them. */
export async function lentObjects(repositories: Iterable<string>, pace: Pace): Promise<ReadonlySet<string>> {
  const lent = new Set<string>();
  for (const repository of repositories) {
    await pace.step();
    for (const alternate of alternatesOf(repository)) {
      const lender = await identity(alternate);
      if (lender !== null && lender !== (await identity(`${repository}/objects`))) lent.add(lender);
    }
  }
  return lent;
}

function alternatesOf(repository: string): readonly string[] {
  const objects = `${repository}/objects`;
  const file = readBounded(encodePath(`${objects}/info/alternates`), { mostBytes: 64 * 1024, follow: true });
  if (file.kind !== 'file') return [];
  return decodePath(file.bytes)
    .split('\n')
    .filter(line => line !== '' && !line.startsWith('#'))
    .slice(0, mostAlternates)
    .map(line => (isAbsolute(line) ? line : resolve(objects, line)));
}
