/**
 * Repacks a repository, and mends what a git that was killed left behind: from 2.37 to 2.40 git finds each
 * `.pack` in its folder, and gives up, now and ever after, where one has no index.
 */

import { lstat, rm } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { isGroupAlive } from '../../../bounded/index.ts';
import { encodePath } from '../../../layout/index.ts';
import { entryNames, isGone } from '../files.ts';
import { isAtLeast } from './git-programs.ts';
import { isAlive, staleMs } from './lock.ts';
import { UnusableRepository } from './repository-config.ts';
import type { RepositoryView, RunLimits } from './view.ts';

/** A repack names what it makes `.tmp-PID-pack-…`. */
const inTheMaking = /^\.tmp-(\d{1,10})-pack-/;
const finished = /^(pack-[0-9a-f]{40,64})\.(pack|idx|rev|mtimes|bitmap)$/;
/** The process that has one removes it itself, unless it was killed. */
const locks = [
  'info/commit-graph.lock',
  'info/commit-graphs/commit-graph-chain.lock',
  'pack/multi-pack-index.lock',
];

const indexComesMs = 1000;

/** Runs `git repack`; if that is ended, what it was making goes. */
export async function repack(
  view: RepositoryView,
  args: readonly string[],
  limits: RunLimits,
): Promise<void> {
  let own: number | undefined;
  const started = (pid: number): void => {
    own = pid;
  };
  try {
    await view.git(['repack', '-d', '-l', '-q', ...args], { ...limits, started });
  } catch (error) {
    if (!isGroupAlive(own)) await removeMade(`${view.path}/objects/pack`, async pid => pid === own);
    throw error;
  }
}

/**
 * Covers all packs by one bitmap, with which the next measurement takes a hundredth of the time. Loose objects
 * that something reaches go into a pack before; nothing is deleted that is not in a pack. Where git cannot do
 * that, everything stays as it is.
 */
export async function writeBitmap(view: RepositoryView, limits: RunLimits): Promise<void> {
  if (view.hasAlternates || !isAtLeast(view.program, 2, 34)) return;
  try {
    await repack(view, [], limits);
    await view.git(['multi-pack-index', 'write', '--bitmap', '--no-progress'], limits);
  } catch (error) {
    // Without a bitmap (an object may be in no pack), measuring goes on, only slower.
    if (!(error instanceof UnusableRepository)) throw error;
  }
}

/**
 * Removes what processes left that are gone, and gives packs without an index theirs. What changed after
 * `before` may belong to a push or a repack that is under way, also on another host.
 */
export async function mendBroken(view: RepositoryView, before: number, limits: RunLimits): Promise<void> {
  const objects = `${view.path}/objects`;
  const isOld = async (file: string, limit = before): Promise<boolean> => (await changedAt(file)) < limit;
  // In the end the number belongs to another program.
  await removeMade(`${objects}/pack`, (pid, file) => isOld(file, isAlive(pid) ? before - staleMs : before));
  const { unindexed, parts } = await brokenPacks(`${objects}/pack`);
  for (const file of [...locks.map(lock => `${objects}/${lock}`), ...parts])
    if (await isOld(file)) await rm(encodePath(file), { force: true });
  if (unindexed.length === 0) return;
  // A push moves a pack first, and its index next.
  await delay(indexComesMs, undefined, { signal: limits.signal });
  const { unindexed: still } = await brokenPacks(`${objects}/pack`);
  for (const pack of unindexed) if (still.includes(pack)) await view.git(['index-pack', pack], limits);
}

/** Packs without an index, and what belongs to packs that are not there. */
async function brokenPacks(
  folder: string,
): Promise<{ readonly unindexed: readonly string[]; readonly parts: readonly string[] }> {
  const names = new Set(await entryNames(folder));
  const unindexed: string[] = [];
  const parts: string[] = [];
  for (const name of names) {
    const [, pack, kind] = finished.exec(name) ?? [];
    if (pack === undefined) continue;
    if (kind === 'pack' && !names.has(`${pack}.idx`)) unindexed.push(`${folder}/${name}`);
    if (kind !== 'pack' && !names.has(`${pack}.pack`)) parts.push(`${folder}/${name}`);
  }
  return { unindexed, parts };
}

async function removeMade(
  folder: string,
  isLeft: (pid: number, file: string) => Promise<boolean>,
): Promise<void> {
  for (const name of await entryNames(folder)) {
    const [, pid] = inTheMaking.exec(name) ?? [];
    const file = `${folder}/${name}`;
    if (pid !== undefined && (await isLeft(Number(pid), file))) await rm(encodePath(file), { force: true });
  }
}

/** A file that is gone has always just changed. */
async function changedAt(file: string): Promise<number> {
  try {
    return (await lstat(encodePath(file))).mtimeMs;
  } catch (error) {
    if (isGone(error)) return Number.POSITIVE_INFINITY;
    throw error;
  }
}
