/** The order in which test files run: long ones first, and those that only wait beside the others. */

/**
 * Folders of `test/` whose files take long, the longest first: they start many programs, or wait for many
 * events.
 */
const slowFolders = [
  'e2e',
  'faults',
  'fleet',
  'web',
  'ledger',
  'forge',
  'store',
  'scan',
  'hooks',
  'api',
  'identity',
  'git',
  'service',
  'scripts',
  'overview',
];

/**
 * Files that wait for deadlines most of their time, such as the half minute after which a command gives a
 * daemon up, and need less than a third of a processor; the longest first.
 */
export const waitingFiles = [
  'test/faults/hanging-disk.test.ts',
  'test/faults/hanging-commands.test.ts',
  'test/fleet/deadline.test.ts',
  'test/faults/silent-daemon.test.ts',
  'test/store/redis-failover.test.ts',
  'test/e2e/fleet-faults.test.ts',
  'test/faults/descriptors.test.ts',
] as const;

export interface TestOrder {
  /** Files that keep processors busy. */
  readonly busy: readonly string[];
  readonly waiting: readonly string[];
}

/** Divides the files, and puts them in order. */
export function inOrder(paths: readonly string[]): TestOrder {
  const all = new Set(paths);
  const waiting = waitingFiles.filter(path => all.has(path));
  const names = new Set<string>(waiting);
  const ranked = slowFolders.toReversed();
  const rank = (path: string) => -ranked.indexOf(path.split('/')[1] ?? '');
  const busy = [...all]
    .filter(path => !names.has(path))
    .sort()
    .sort((a, b) => rank(a) - rank(b));
  return { busy, waiting };
}
