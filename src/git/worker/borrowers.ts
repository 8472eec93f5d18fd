/**
 * Finds out whether other repositories use the objects of one: then nothing of it may be deleted, and nothing
 * forgiven, whether its own refs reach it or not.
 */

import { stat } from 'node:fs/promises';
import { isAbsolute, resolve } from 'node:path';
import { readBounded } from '../../bounded/index.ts';
import { decodePath, encodePath } from '../../layout/index.ts';
import type { Pace } from './pace.ts';

const mostAlternates = 100;

/** The first of the repositories whose alternates lead to these objects; null: none does. */
export async function borrowerOf(
  path: string,
  repositories: Iterable<string>,
  pace: Pace,
): Promise<string | null> {
  const own = await identity(`${path}/objects`);
  for (const other of repositories) {
    await pace.step();
    if (other === path) continue;
    for (const alternate of alternatesOf(other))
      if (own !== null && (await identity(alternate)) === own) return other;
  }
  return null;
}

/** Returns the object directories that these repositories borrow from, as `identity` gives them. */
export async function lentObjects(repositories: Iterable<string>, pace: Pace): Promise<ReadonlySet<string>> {
  const lent = new Set<string>();
  for (const repository of repositories) {
    await pace.step();
    for (const alternate of alternatesOf(repository)) {
      const lender = await identity(alternate);
      if (lender !== null) lent.add(lender);
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

/** Returns one text for a directory, whatever name it is reached by; null: there is none. */
export async function identity(path: string): Promise<string | null> {
  try {
    const { dev, ino } = await stat(encodePath(path));
    return `${dev}:${ino}`;
  } catch {
    return null;
  }
}
