/** The hooks of this package, and telling them from other people's. */

import { readFileSync } from 'node:fs';
import { packageDirectory } from '../../package.ts';

export const hookNames = ['pre-receive', 'post-receive'] as const;

export type HookName = (typeof hookNames)[number];

export const hooksDirectory = new URL('hooks/', packageDirectory);

/** The hook as this version of the package has it. */
export function packagedHook(name: HookName): Buffer {
  return readFileSync(new URL(name, hooksDirectory));
}

/** Where a hook that was there before ours goes on, below `hooks/NAME.d`. */
export const previousFile = '50-previous';

/** Where ours lies, below `hooks/NAME.d`, when another hook runs that folder: before all others. */
export const folderFile = '00-softquota';

/** Where Gogs, whose own hooks replace those in `hooks`, looks for hooks of others. */
export const customFolder = 'custom_hooks';

/** Tells whether this is a hook that Gogs puts into repositories, and that runs `custom_hooks/NAME`. */
export function isOfGogs(name: HookName, content: Uint8Array): boolean {
  const found = text(content);
  return !isOurs(name, content) && /\bhook --config=/.test(found) && !runsFolder(name, content);
}

/** Tells whether this is a hook of ours, of any version. */
export function isOurs(name: HookName, content: Uint8Array): boolean {
  const found = text(content);
  const firstEnd = found.indexOf('\n');
  return found.startsWith('#!') && found.startsWith(`\n# softquota hook: ${name}\n`, firstEnd);
}

// The folder's name as a whole, or built from the hook's own: ${hookname}.d/, $(basename $0).d/,
// ${0##*/}.d/. The hooks themselves tell it by patterns that match the same.
const buildsName = [/\$[^$/\n]*\.d\//, /\$\{0##\*\/\}"*\.d\//];

/** Tells whether a hook runs the folder `NAME.d` itself, as those do that forges put into repositories. */
export function runsFolder(name: HookName, content: Uint8Array): boolean {
  const found = text(content);
  return found.includes(`${name}.d`) || buildsName.some(pattern => pattern.test(found));
}

function text(content: Uint8Array): string {
  return Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString('latin1');
}

/** The file in a repository whose lines a refusal shows; the worker writes it. */
export const spaceNote = 'softquota-space';
