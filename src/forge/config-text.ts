/**
 * The text of a forge's own configuration file, and the values of an app.ini as the forge itself reads them.
 *
 * A value between backticks stands for itself, which is how a password with `#` or `;` is written; anywhere
 * else these begin a comment. Names compare without case.
 */

import { readBounded } from '../bounded/index.ts';
import { messageOf } from '../errors.ts';
import { printable } from '../text/index.ts';
import { ForgeFault } from './fault.ts';

/** `faultIn` makes the fault of a file that is none, or too large; `mend` helps where it may not be read. */
export function textOfConfig(file: string, faultIn: (what: string) => ForgeFault, mend: string): string {
  try {
    const read = readBounded(file, { follow: true });
    if (read.kind !== 'file') throw faultIn(read.kind === 'absent' ? 'is not there' : 'is not a file');
    if (!read.whole) throw faultIn('is over 1 MiB');
    return read.bytes.toString();
  } catch (error) {
    if (error instanceof ForgeFault) throw error;
    const message = `${printable(file)} cannot be read: ${messageOf(error)}`;
    throw new ForgeFault('rights', message, mend, { cause: error });
  }
}

/** By section and key; the section is empty before the first one. */
export type IniValues = (section: string, key: string) => string | null;

export function readIniText(text: string): IniValues {
  const values = new Map<string, string>();
  let section = '';
  for (const line of text.split(/\r?\n/).map(one => one.trim())) {
    if (line === '' || line.startsWith('#') || line.startsWith(';')) continue;
    const heading = /^\[([^\]]*)\]/.exec(line)?.[1];
    if (heading !== undefined) {
      section = heading.trim();
      continue;
    }
    const split = line.search(/[=:]/);
    if (split === -1) continue;
    values.set(idOf(section, line.slice(0, split).trim()), valueIn(line.slice(split + 1).trim()));
  }
  return (wanted, key) => values.get(idOf(wanted, key)) ?? null;
}

function valueIn(written: string): string {
  const quote = written.charAt(0);
  if (quote === '`' || quote === '"' || quote === "'") {
    const end = written.indexOf(quote, 1);
    if (end !== -1) return written.slice(1, end);
  }
  const comment = written.search(/[#;]/);
  return (comment === -1 ? written : written.slice(0, comment)).trim();
}

function idOf(section: string, key: string): string {
  return `${section}\0${key}`.toLowerCase();
}
