/** Lines about the space of a repository, for the messages of refused pushes. */

import { posix } from 'node:path';
import type { UnitRecord } from '../store/index.ts';
import { formatBytes, formatCount, printable, shortened } from '../text.ts';
import { addressOf, isKeptByGitlab, type SpaceReport } from '../wire/index.ts';

const mostNamed = 3;
const longestName = 200;

/** The three deletions that free the most; empty if nothing frees bytes. `page`: an address, or empty. */
export function spaceLines(report: SpaceReport, page: string): readonly string[] {
  const first = candidates(report)
    .filter(({ bytes }) => bytes > 0)
    .sort((a, b) => b.bytes - a.bytes)
    .slice(0, mostNamed);
  if (first.length === 0) return [];
  const sizes = first.map(({ bytes }) => formatBytes(bytes));
  const width = Math.max(...sizes.map(size => size.length));
  return [
    'Removing these frees the most space in this repository:',
    ...first.map(({ words }, at) => `  ${(sizes[at] ?? '').padStart(width)}  ${words}`),
    ...(page === '' ? [] : [`How to free it: ${printable(page)}`]),
  ];
}

function candidates({ paths, refs, ...report }: SpaceReport) {
  return [
    ...paths.map(({ path, frees, versions }) => ({
      words: `file ${shown(path)}${versions > 1 ? `, ${formatCount(versions)} versions` : ''}`,
      bytes: frees,
    })),
    ...refs
      .filter(ref => !ref.default_branch)
      .map(({ name, frees }) => ({ words: refWords(name), bytes: frees })),
    {
      words: 'history that GitLab keeps: see Settings, Repository, Repository maintenance of the project',
      bytes: report.namespaces
        .filter(({ name }) => isKeptByGitlab(name))
        .reduce((sum, { bytes }) => sum + bytes, 0),
    },
    {
      words: 'objects that nothing reaches: go with the next garbage collection',
      bytes: report.unreachable_bytes,
    },
    {
      words: 'leftovers of broken pushes: go with the next garbage collection',
      bytes: report.leftover_bytes,
    },
  ];
}

function refWords(name: string): string {
  const [, kind = '', short = ''] = /^refs\/(heads|tags)\/(.*)$/s.exec(name) ?? [];
  if (kind === '') return `ref ${shown(name)}`;
  return `${kind === 'heads' ? 'branch' : 'tag'} ${shown(short)}`;
}

function shown(name: string): string {
  return shortened(printable(name), longestName);
}

/** A longer link would fill several lines of a terminal. */
const longestLink = 400;

/**
 * The address of the page about a repository's space; empty without ROOT_URL or an owner, or if it is too
 * long. `unitName`: the name for people.
 */
export function spacePage(
  rootUrl: string | null,
  { owner }: Pick<UnitRecord, 'owner'>,
  unitName: string,
): string {
  if (rootUrl === null || owner === null) return '';
  const name = unitName.replace(/\/?\.git$/, '');
  const below = posix.relative(owner, name);
  const repo = below.startsWith('..') || below === '' ? name : below;
  const page = `${rootUrl}${addressOf('space', owner)}?${new URLSearchParams({ repo })}`;
  return page.length > longestLink ? '' : page;
}
