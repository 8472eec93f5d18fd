/** Finds processes that may own a quarantine (git that takes a push, and its children), and which one. */

import { readdirSync, readlinkSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { uptime } from 'node:os';
import { basename } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { boundedText, identity, isThere } from '../files.ts';

export interface Process {
  readonly pid: number;
  readonly parent: number;
  /** The user as whom it writes files. */
  readonly uid: number;
  /** Milliseconds since 1970, to about a second. */
  readonly startedAt: number;
  /** Its command line names a part of git that takes pushes. */
  readonly takesPush: boolean;
  /** The name of the quarantine that its environment names; null: none, or it cannot be read. */
  readonly quarantine: string | null;
  /** Device and inode of its working directory; null: it cannot be read. */
  readonly directory: string | null;
  /** The device and inode of `objects` there, which several repositories may share by a link. */
  readonly objects?: string | null;
}

const programs = /receive-pack|index-pack|unpack-objects/;
const variable = /(?:^|\0)GIT_QUARANTINE_PATH=([^\0]*)/;
/** Longest text that is read of a process; push options may fill an environment. */
const longestText = 8 * 1024 * 1024;
/** Processes that are read in one turn of the event loop. */
const atATime = 50;
const ticksPerSecond = 100;
/** The host's own namespace of processes. */
const firstSpace = 'pid:[4026531836]';

/** Lists all such processes. One that ends meanwhile is left out. */
export async function pushProcesses(): Promise<readonly Process[]> {
  const [, booted] = /^btime (\d+)/m.exec(boundedText('/proc/stat', longestText) ?? '') ?? [];
  // A service manager may hide all of /proc but the processes. The uptime comes from the clock then.
  const bootedAt = booted === undefined ? Date.now() - uptime() * 1000 : Number(booted) * 1000;
  const found: Process[] = [];
  const names = readdirSync('/proc').filter(name => /^\d+$/.test(name));
  for (const [at, name] of names.entries()) {
    if (at % atATime === 0) await setImmediate();
    const process = await processAt(name, bootedAt);
    if (process !== null && (process.takesPush || process.quarantine !== null)) found.push(process);
  }
  return found;
}

/**
 * Tells whether every process that may own a file of this user is visible: this is the host's own namespace
 * of processes, or the administrator says that all processes of git are in this one, and /proc hides none.
 */
export async function seesAllProcesses(isAlone: boolean): Promise<boolean> {
  try {
    if (!isAlone && readlinkSync('/proc/self/ns/pid') !== firstSpace) return false;
    const mounts = (await readFile('/proc/self/mountinfo', 'latin1')).split('\n');
    const last = mounts.findLast(line => line.split(' ')[4] === '/proc') ?? '';
    return !/[ ,]hidepid=(?!0\b|off\b)/.test(last);
  } catch {
    return false;
  }
}

async function processAt(pid: string, bootedAt: number): Promise<Process | null> {
  const status = boundedText(`/proc/${pid}/status`, longestText);
  const [, parent] = /^PPid:\t(\d+)/m.exec(status ?? '') ?? [];
  const [, uid] = /^Uid:(?:\t\d+){3}\t(\d+)/m.exec(status ?? '') ?? [];
  if (parent === undefined || uid === undefined) return null;
  const takesPush = programs.test(boundedText(`/proc/${pid}/cmdline`, longestText) ?? '');
  const [, quarantine] = variable.exec(boundedText(`/proc/${pid}/environ`, longestText) ?? '') ?? [];
  if (!takesPush && quarantine === undefined) return null;
  // The program's name in front may contain blanks and brackets.
  const fields = (boundedText(`/proc/${pid}/stat`, longestText) ?? '').split(') ').at(-1)?.split(' ') ?? [];
  const directory = await identity(`/proc/${pid}/cwd`);
  if (directory === null && !(await isThere(`/proc/${pid}`))) return null;
  return {
    pid: Number(pid),
    parent: Number(parent),
    uid: Number(uid),
    startedAt: bootedAt + (Number(fields[19] ?? 0) / ticksPerSecond) * 1000,
    takesPush,
    quarantine: quarantine === undefined ? null : basename(quarantine),
    directory,
    objects: await identity(`/proc/${pid}/cwd/objects`),
  };
}

/** The start of a process is known to about a second. */
const slackMs = 5000;

/**
 * Names the quarantines of a repository that must stay, because a living process may own them. `directories`
 * are the devices and inodes of the repository, its worktrees and its objects. `bornAt` is 0 if it is not
 * known.
 *
 * A process holds the quarantine that its environment or that of a child names. While git takes a push, there
 * are moments without a child: then the process holds all quarantines of its user that are younger than
 * itself, for one of them is its own. A process whose directory cannot be read may work anywhere, and also
 * holds the youngest quarantine of its user.
 */
export function heldQuarantines(
  quarantines: readonly { readonly name: string; readonly uid: number; readonly bornAt: number }[],
  directories: ReadonlySet<string>,
  processes: readonly Process[],
): ReadonlySet<string> {
  const held = new Set<string>();
  const near = processes.filter(
    ({ directory, objects = null }) =>
      directory === null || directories.has(directory) || (objects !== null && directories.has(objects)),
  );
  for (const { quarantine } of near) if (quarantine !== null) held.add(quarantine);
  for (const process of near) {
    if (!process.takesPush || process.quarantine !== null) continue;
    const named = namedBelow(process, near);
    if (named !== null) {
      held.add(named);
      continue;
    }
    const own = quarantines.filter(({ uid }) => uid === process.uid);
    for (const { name, bornAt } of own)
      if (bornAt === 0 || bornAt >= process.startedAt - slackMs) held.add(name);
    const youngest = own.toSorted((a, b) => b.bornAt - a.bornAt)[0];
    if (process.directory === null && youngest !== undefined) held.add(youngest.name);
  }
  return held;
}

function namedBelow({ pid }: Process, processes: readonly Process[]): string | null {
  for (const child of processes) {
    if (child.parent !== pid || child.pid === pid) continue;
    const named = child.quarantine ?? namedBelow(child, processes);
    if (named !== null) return named;
  }
  return null;
}
