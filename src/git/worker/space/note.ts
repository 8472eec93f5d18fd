/**
 * The lines about its space that a repository's refused pushes show: a file in the repository itself.
 *
 * So only those read it who may read the repository, whoever may ask the gate. It names the refs that it was
 * made for, and goes when they change.
 */

import { lstat, open, rename, rm } from 'node:fs/promises';
import { readBounded } from '../../../bounded/index.ts';
import { encodePath } from '../../../layout/index.ts';
import { formatBytes, formatCount, printable } from '../../../text/index.ts';
import { spaceNote } from '../../hooks/hook.ts';
import type { SpaceFindings } from './explain.ts';

const head = 'softquota-space 1 ';
const mostNamed = 3;
const longestName = 200;
/** The hook reads no longer file. */
const mostBytes = 4096;

/**
 * The three that free most, as whole lines; none where nothing would free anything. `page`: empty for none.
 */
export function noteLines(findings: SpaceFindings, page: string): readonly string[] {
  const first = candidates(findings)
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

interface Candidate {
  readonly words: string;
  readonly bytes: number;
}

function candidates(findings: SpaceFindings): readonly Candidate[] {
  const { indexBytesPerObject: each, paths, refs, unreachableBytes, leftoverBytes } = findings;
  return [
    ...paths.map(({ path, bytes, versions }) => ({
      words: `file ${shown(path)}${versions > 1 ? `, ${formatCount(versions)} versions` : ''}`,
      bytes: bytes + versions * each,
    })),
    ...refs
      .filter(({ isDefaultBranch }) => !isDefaultBranch)
      .map(({ name, bytes, objects }) => ({ words: refWords(name), bytes: bytes + objects * each })),
    {
      words: 'objects that nothing reaches: go with the next garbage collection',
      bytes: unreachableBytes,
    },
    { words: 'leftovers of broken pushes: go with the next garbage collection', bytes: leftoverBytes },
  ];
}

function refWords(name: string): string {
  const [, kind = '', short = ''] = /^refs\/(heads|tags)\/(.*)$/s.exec(name) ?? [];
  if (kind === '') return `ref ${shown(name)}`;
  return `${kind === 'heads' ? 'branch' : 'tag'} ${shown(short)}`;
}

function shown(name: string): string {
  const whole = printable(name);
  return whole.length > longestName ? `${whole.slice(0, longestName)}…` : whole;
}

/**
 * Replaces the file as a whole; removes it where there is no line. `signature`: of the refs by
 * `refsSignature`.
 */
export async function writeNote(path: string, signature: string, lines: readonly string[]): Promise<void> {
  const file = `${path}/${spaceNote}`;
  const text = [head + signature, ...lines, ''].join('\n');
  if (lines.length === 0 || Buffer.byteLength(text) > mostBytes) {
    await rm(encodePath(file), { force: true });
    return;
  }
  const draft = encodePath(`${file}.new`);
  // Left by a worker that was killed.
  await rm(draft, { force: true });
  const handle = await open(draft, 'wx', 0o600);
  try {
    await handle.writeFile(text);
    await handle.chmod(await modeIn(path));
  } finally {
    await handle.close();
  }
  await rename(draft, encodePath(file));
}

/** Removes the file where it was made for other refs. */
export async function dropOldNote(path: string, signature: string): Promise<void> {
  const file = encodePath(`${path}/${spaceNote}`);
  const found = readBounded(file, { mostBytes });
  if (found.kind === 'absent') return;
  const isCurrent =
    found.kind === 'file' && found.bytes.toString('latin1').startsWith(`${head}${signature}\n`);
  if (!isCurrent) await rm(file, { force: true });
}

/** Nobody reads more by it than by the refs and objects. */
async function modeIn(path: string): Promise<number> {
  const modes = await Promise.all(
    ['/HEAD', '/objects'].map(async name => (await lstat(encodePath(path + name))).mode),
  );
  return modes.reduce((common, mode) => common & mode, 0o644);
}
