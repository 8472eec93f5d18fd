/**
 * Makes findings by the codes of the catalog, shortens long lists of them, and writes command lines that can
 * be copied into a shell, whatever the names in them hold.
 */

import { encodePath } from '../layout/index.ts';
import { printable, shellQuoted } from '../text/index.ts';
import type { Finding } from '../wire/index.ts';
import { daemonFindings, doctorFindings } from './catalog.ts';
import type { Listed } from './observed.ts';

/** Thousands of findings have one cause, and would hide all others. */
const mostTold = 20;

/** Tells the first ones, and how many there are besides. */
export function listed<Item>({ first, count }: Listed<Item>, tell: (item: Item) => Finding): Finding[] {
  const told = first.slice(0, mostTold).map(tell);
  const last = told.at(-1);
  if (last === undefined || count <= told.length) return told;
  const message = `… and ${count - told.length} more like these`;
  return [...told, { ...last, message, mend: 'fix these first; then the next ones are listed' }];
}

const catalog = { ...daemonFindings, ...doctorFindings };

/** `message` is one line, harmless on a terminal; `mend` can be followed as it stands. */
export function makeFinding(code: keyof typeof catalog, message: string, mend: string): Finding {
  return { code, severity: catalog[code].severity, message, mend };
}

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
