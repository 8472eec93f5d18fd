/** The address of the page about a repository's space, as a refused push shows it. */

import { posix } from 'node:path';
import { unitName } from '../api/index.ts';
import type { UnitRecord } from '../store/index.ts';
import { addressOf } from '../wire/index.ts';

/** A terminal shows no longer link on a line or two. */
const longest = 400;

/** Empty where nobody said what softquota's address is. `roots`: the directories that templates begin with. */
export function spacePage(
  rootUrl: string | null,
  { id, owner }: Pick<UnitRecord, 'id' | 'owner'>,
  roots: readonly string[],
): string {
  if (rootUrl === null || owner === null) return '';
  const name = unitName({ kind: 'walked', name: id }, roots).replace(/\/?\.git$/, '');
  const below = posix.relative(owner, name);
  const repo = below.startsWith('..') || below === '' ? name : below;
  const page = `${rootUrl}${addressOf('space', owner)}?${new URLSearchParams({ repo })}`;
  return page.length > longest ? '' : page;
}
