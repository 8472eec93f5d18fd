/** Advice how to free the space of a file or a ref: the bytes, and the lines to copy. */

import { printable, shellQuoted } from '../../../text/index.ts';
import type { SpaceReport } from '../../../wire/index.ts';
import { inLatin1 } from '../files.ts';
import type { LargePath } from './largest-paths.ts';
import type { HoldingRef } from './refs.ts';

const longestName = 4096;

/** `each`: the bytes of an object in the index of a pack, which are freed with it. */
export function pathAdvice(found: LargePath, each: number): SpaceReport['paths'][number] {
  const { path, other_names: otherNames, bytes, versions } = found;
  const names = [path, ...otherNames];
  return {
    ...found,
    path: path.slice(0, longestName),
    other_names: otherNames.map(name => name.slice(0, longestName)),
    frees: bytes + versions * each,
    // A shell takes no line that is much longer.
    commands: names.some(name => name.length > longestName) ? [] : pathCommands(names),
  };
}

export function refAdvice({ objects, ...found }: HoldingRef, each: number): SpaceReport['refs'][number] {
  const { name, bytes } = found;
  return {
    ...found,
    name: name.slice(0, longestName),
    frees: bytes + objects * each,
    // Nobody can delete the default branch by a push, and nobody wants to.
    commands: found.default_branch ? [] : [`git push origin --delete ${bashQuoted(name)}`],
  };
}

/** One word for bash, in plain characters whatever the name holds. */
export function bashQuoted(text: string): string {
  if (printable(text) === text && text.isWellFormed()) return shellQuoted(text);
  const bytes = [...Buffer.from(inLatin1(text), 'latin1')];
  const escaped = bytes.map(byte =>
    byte >= 0x20 && byte < 0x7f && byte !== 0x27 && byte !== 0x5c
      ? String.fromCharCode(byte)
      : `\\x${byte.toString(16).padStart(2, '0')}`,
  );
  return `$'${escaped.join('')}'`;
}

function pathCommands(paths: readonly string[]): string[] {
  // It takes what begins with a dash for an option.
  const options = paths.map(path => `--path${path.startsWith('-') ? '=' : ' '}${bashQuoted(path)}`);
  return [
    `git filter-repo --invert-paths ${options.join(' ')}`,
    "git push --force origin 'refs/heads/*:refs/heads/*' 'refs/tags/*:refs/tags/*'",
  ];
}
