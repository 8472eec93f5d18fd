/** One file that git may run as a hook, wherever it lies and whatever link leads to it. */

import { lstatSync } from 'node:fs';
import { readBounded } from '../bounded/index.ts';
import { type HookName, isThisVersion } from '../git/index.ts';
import { beforeLook, encodePath } from '../layout/index.ts';

export interface HookFile {
  readonly is: 'absent' | 'other' | 'outdated' | 'current';
  /** A symbolic link, that may lead nowhere. */
  readonly isLink: boolean;
  readonly isExecutable: boolean;
}

export function hookFileAt(path: string, name: HookName): HookFile {
  const isLink = entryIsLink(path);
  try {
    beforeLook(path);
    const file = readBounded(encodePath(path), { follow: true });
    // git runs nothing but regular files.
    if (file.kind !== 'file') return { is: 'absent', isLink, isExecutable: false };
    const { bytes, stats } = file;
    const isExecutable = (stats.mode & 0o111) !== 0;
    const isOurs = bytes.toString('latin1').split('\n')[1] === `# softquota hook: ${name}`;
    if (!isOurs) return { is: 'other', isLink, isExecutable };
    const isCurrent = isThisVersion(name, bytes);
    return { is: isCurrent ? 'current' : 'outdated', isLink, isExecutable };
  } catch {
    return { is: 'absent', isLink, isExecutable: false };
  }
}

function entryIsLink(path: string): boolean {
  try {
    beforeLook(path);
    return lstatSync(encodePath(path), { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
  } catch {
    return false;
  }
}
