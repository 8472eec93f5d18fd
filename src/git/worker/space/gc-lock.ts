/**
 * Works under `gc.pid`, the lock of git gc. A worker writes into it which process works there, and since
 * when. So a later check can tell what the git of a killed worker has left, and removes only that.
 */

import { renameSync, writeFileSync } from 'node:fs';
import { lstat, readlink, rename, rm, unlink, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename } from 'node:path';
import { isGroupAlive, isProcessAlive } from '../../../bounded/index.ts';
import { systemCode } from '../../../errors.ts';
import { encodePath, isWithin, Mounts } from '../../../layout/index.ts';
import { Folder } from '../../hooks/folder.ts';
import { boundedText, entryNames } from '../files.ts';
import { seesAllProcesses } from '../quarantines/processes.ts';
import { writableByOthers } from './inspect.ts';
import type { RepositoryView } from './view.ts';

/** Time for which a lock is valid, as for git; that of another host, which may be gone, for an hour. */
export const staleMs = 12 * 3_600_000;
const staleElsewhereMs = 3_600_000;
/** Time for which an empty lock is valid: a lock gets its text at once unless its process is killed. */
const emptyMs = 10_000;
/** Interval in which a worker renews the time of its lock. */
const beatMs = 250;
/** Precision of times on file systems: the kernel's tick. */
const tickMs = 20;
/** Longest lock; longest arguments or environment of a process. In bytes. */
const longestLock = 1024;
const longestSaid = 1024 * 1024;

/** The text of a lock: git reads the process number and the host. */
const form = /^(\d+) (\S+)(?: softquota (\d+))?/;

/** The repositories in which this process works. */
const busy = new Set<string>();

/** Runs `work` under the lock; returns false if another collection is under way. */
export async function workAlone(view: RepositoryView, work: () => Promise<void>): Promise<boolean> {
  const { path } = view;
  const { isAlone = false } = view.limits;
  await removeLeft(view, isAlone);
  if (busy.has(path)) return false;
  busy.add(path);
  const lock = encodePath(`${path}/gc.pid`);
  const making = encodePath(`${path}/gc.pid.lock`);
  const begunAt = Date.now();
  const mark = ` ${hostname()} softquota ${begunAt}`;
  try {
    if (!(await takeLock(path, process.pid + mark))) return false;
    let git = process.pid;
    // Synchronous, for this process may be killed at any time, and git goes on.
    const note = (pid: number): void => {
      try {
        // Another process took our lock for stale.
        if (boundedText(`${path}/gc.pid`, longestLock)?.endsWith(mark) !== true) return;
        writeFileSync(making, pid + mark, { mode: 0o644 });
        renameSync(making, lock);
      } catch {
        // On a full disk the lock keeps the previous number.
      }
    };
    const beat = setInterval(() => {
      if (git !== process.pid && !isGroupAlive(git)) note(process.pid);
      void utimes(lock, new Date(), new Date()).catch(() => {});
    }, beatMs);
    try {
      view.started = pid => {
        git = pid;
        note(pid);
      };
      await work();
      return true;
    } catch (error) {
      await removeMade(view, git, { begunAt, endedAt: Date.now(), isAlone }).catch(() => false);
      throw error;
    } finally {
      view.started = () => {};
      clearInterval(beat);
      // Another process may have taken our lock for stale, and has it now.
      if (boundedText(`${path}/gc.pid`, longestLock)?.endsWith(mark)) await rm(lock, { force: true });
    }
  } finally {
    busy.delete(path);
  }
}

async function takeLock(path: string, text: string): Promise<boolean> {
  const making = encodePath(`${path}/gc.pid.lock`);
  if (await isHeld(`${path}/gc.pid.lock`)) return false;
  // A process that was killed here would otherwise block all later ones.
  await rm(making, { force: true });
  try {
    await writeFile(making, text, { flag: 'wx', mode: 0o644 });
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return false;
    throw error;
  }
  // Nobody else can take the lock from here on.
  if (await isHeld(`${path}/gc.pid`)) {
    await rm(making, { force: true });
    return false;
  }
  await rename(making, encodePath(`${path}/gc.pid`));
  return true;
}

async function isHeld(path: string): Promise<boolean> {
  const text = boundedText(path, longestLock);
  if (text === null) return false;
  const { mtimeMs } = await lstat(encodePath(path));
  const ageMs = Date.now() - mtimeMs;
  if (text === '') return ageMs <= emptyMs;
  const [, pid = '', host = ''] = form.exec(text) ?? [];
  if (pid === '' || host !== hostname()) return ageMs <= staleElsewhereMs;
  return ageMs <= staleMs && isAlive(Number(pid));
}

/** Tells whether another process of this host is alive. */
export function isAlive(pid: number): boolean {
  return pid !== process.pid && isProcessAlive(pid);
}

/** The paths of a repository, and of the directory of its objects, which may lie on another disk. */
type Places = Pick<RepositoryView, 'objects' | 'path'>;

/** Removes the lock of a killed worker and what its git left; returns true if that git still runs. */
export async function removeLeft(places: Places, isAlone: boolean): Promise<boolean> {
  const { path } = places;
  for (const name of busy.has(path) ? [] : ['gc.pid', 'gc.pid.lock']) {
    const text = boundedText(`${path}/${name}`, longestLock) ?? '';
    const [, pid, host, begun] = form.exec(text) ?? [];
    if (begun === undefined || host !== hostname()) continue;
    const number = Number(pid);
    if (number !== process.pid && (isAlive(number) || isGroupAlive(number))) return true;
    const file = encodePath(`${path}/${name}`);
    const { mtimeMs } = await lstat(file);
    const time = { begunAt: Number(begun), endedAt: mtimeMs + beatMs, isAlone };
    if (!(await removeMade(places, number, time))) continue;
    // Another process may have taken the lock meanwhile.
    if (!busy.has(path) && boundedText(`${path}/${name}`, longestLock) === text)
      await rm(file, { force: true });
  }
  return false;
}

/** Names of unfinished files. A repack puts its process number into them. */
const temporary =
  /^(?:tmp_[a-z]+_\w{6}|\.tmp-(\d{1,10})-pack-.*|(?:commit-graph|commit-graph-chain|multi-pack-index|shallow)\.lock)$/;

/**
 * Removes unfinished files of this user that were born within this time and that no process has open. Returns
 * false, and removes nothing, if another process may be at work there.
 */
async function removeMade(
  { path, objects }: Places,
  git: number,
  { begunAt, endedAt, isAlone }: { begunAt: number; endedAt: number; isAlone: boolean },
): Promise<boolean> {
  const fanOut = (await entryNames(objects)).filter(name => /^[0-9a-f]{2}$/.test(name));
  const places = ['pack', 'info', 'info/commit-graphs', ...fanOut].map(name => `${objects}/${name}`);
  const mounts = new Mounts();
  await mounts.refresh();
  const both = [path, objects];
  if (isGroupAlive(git) || !both.every(place => mounts.isLocal(place))) return false;
  if ((await writableByOthers(both, places)) !== null) return false;
  const inUse = (await seesAllProcesses(isAlone)) ? await openNames(both) : null;
  if (inUse === null) return false;
  for (const place of [path, ...places]) {
    const names = (await entryNames(place)).filter(name => {
      const [, pid = `${git}`] = temporary.exec(name) ?? [null, ''];
      return pid === `${git}` && !inUse.has(name);
    });
    if (names.length === 0) continue;
    await using folder = await Folder.openUnresolved(place);
    for (const name of names) {
      const stats = await lstat(folder.at(name)).catch(() => null);
      if (stats?.isFile() !== true || stats.uid !== process.geteuid?.()) continue;
      const { birthtimeMs: bornAt } = stats;
      if (bornAt >= begunAt - tickMs && bornAt <= endedAt + tickMs) await unlink(folder.at(name));
    }
  }
  return true;
}

/** Lists the names of open files; null if another process may be at work in one of these directories. */
async function openNames(directories: readonly string[]): Promise<ReadonlySet<string> | null> {
  const names = new Set<string>();
  for (const pid of await entryNames('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    const at = await readlink(`/proc/${pid}/cwd`).catch(() => '');
    const said = ['cmdline', 'environ']
      .map(name => boundedText(`/proc/${pid}/${name}`, longestSaid) ?? '')
      .join('\0');
    const isThere = directories.some(directory => isWithin(at, directory) || said.includes(directory));
    if (isThere && Number(pid) !== process.pid) return null;
    for (const descriptor of await entryNames(`/proc/${pid}/fd`).catch(() => []))
      names.add(basename(await readlink(`/proc/${pid}/fd/${descriptor}`).catch(() => '')));
  }
  return names;
}
