/** Finds the quarantines of a repository that a living process may own. */

import type { Process } from './processes.ts';

interface SeenQuarantine {
  readonly name: string;
  readonly uid: number;
  /** Milliseconds since 1970; 0: the file system does not say. */
  readonly bornAt: number;
}

/** The start of a process is known to about a second. */
const slackMs = 5000;

/**
 * Names those that must stay. `directories` are the devices and inodes of the repository and its worktrees.
 *
 * A process holds the quarantine that it or its children name. While git takes a push there are moments
 * without a child: then it holds all of its user that are younger than itself, for one of them is its own. One
 * whose directory cannot be read may be at work anywhere, and holds the youngest of its user besides.
 */
export function heldQuarantines(
  quarantines: readonly SeenQuarantine[],
  directories: ReadonlySet<string>,
  processes: readonly Process[],
): ReadonlySet<string> {
  const held = new Set<string>();
  const near = processes.filter(({ directory }) => directory === null || directories.has(directory));
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
