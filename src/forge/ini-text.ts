/**
 * The values of a forge's app.ini, as the forge itself reads them.
 *
 * A value between backticks stands for itself, which is how a password with `#` or `;` is written; anywhere else
 * these begin a comment. Names compare without case.
 */

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
