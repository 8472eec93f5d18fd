/** The hooks of this package, and telling them from other people's. */

import type { BoundedFile } from '../../bounded/index.ts';
import { packageDirectory } from '../../package.ts';

export const hookNames = ['pre-receive', 'post-receive'] as const;

export type HookName = (typeof hookNames)[number];

export const hooksDirectory = new URL('hooks/', packageDirectory);

/** The name, in `hooks/NAME.d`, of a hook that was there before ours. */
export const previousFile = '50-previous';

/** The name of our hook, in `hooks/NAME.d`, if another hook runs that folder: before all others. */
export const folderFile = '00-softquota';

/** The folder from which Gogs runs other hooks; its own replace those in `hooks`. */
export const customFolder = 'custom_hooks';

/** Tells whether this is a hook that Gogs puts into repositories, and that runs `custom_hooks/NAME`. */
export function isOfGogs(name: HookName, entry: BoundedFile): boolean {
  return (
    entry.kind === 'file' &&
    /\bhook --config=/.test(textOf(entry.bytes)) &&
    !isOurs(name, entry) &&
    !namesFolder(name, entry.bytes)
  );
}

/** Tells whether this is a hook of ours, of any version. */
export function isOurs(name: HookName, entry: BoundedFile): entry is BoundedFile & { kind: 'file' } {
  if (entry.kind !== 'file') return false;
  const found = textOf(entry.bytes);
  return found.startsWith('#!') && found.startsWith(`\n# softquota hook: ${name}\n`, found.indexOf('\n'));
}

/** The folder's name as a whole, or built from the hook's own: ${hookname}.d/, $(basename $0).d/, ${0##*\/}.d/. */
const buildsName = [/\$[^$/\n]*\.d\//, /\$\{0##\*\/\}"*\.d\//];

/**
 * Tells whether this is another's hook that runs the folder `NAME.d` itself, as those do that forges put into
 * repositories.
 */
export function runsFolder(name: HookName, entry: BoundedFile): boolean {
  return (
    entry.kind === 'file' && isExecutable(entry) && !isOurs(name, entry) && namesFolder(name, entry.bytes)
  );
}

function namesFolder(name: HookName, content: Uint8Array): boolean {
  const found = textOf(content);
  return found.includes(`${name}.d`) || buildsName.some(pattern => pattern.test(found));
}

/** git passes over a hook that its user may not execute. */
export function isExecutable({ stats }: BoundedFile & { kind: 'file' }): boolean {
  return (stats.mode & 0o100) !== 0;
}

/** Tells whether it is a hook that git passes over. */
export function isSkipped(entry: BoundedFile): boolean {
  return entry.kind === 'file' && !isExecutable(entry);
}

function textOf(content: Uint8Array): string {
  return Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString('latin1');
}
