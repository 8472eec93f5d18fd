/** Command lines that can be copied into a shell, whatever the names in them hold. */

import { encodePath } from '../layout/index.ts';
import { printable, shellQuoted } from '../text/index.ts';

/** The words as one line for sh, on which a terminal obeys nothing. */
export function commandLine(...words: readonly string[]): string {
  return words.map(quoted).join(' ');
}

/**
 * One word for sh. What could mislead a reader stands in it by the bytes that it is made of; only newlines at
 * the end, which sh would take away from them, stand as they are.
 */
export function quoted(word: string): string {
  if (printable(word) === word) return shellQuoted(word);
  let end = word.length;
  while (word[end - 1] === '\n') end--;
  const bytes = [...Buffer.from(encodePath(word.slice(0, end)))].map(octal);
  return `"$(printf '${bytes.join('')}')${word.slice(end)}"`;
}

/** Writes a byte for `printf`; letters and the like stay as they are. */
function octal(byte: number): string {
  const character = String.fromCharCode(byte);
  return /[\w./]/.test(character) ? character : `\\${byte.toString(8).padStart(3, '0')}`;
}
