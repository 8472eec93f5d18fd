/**
 * Reads the values of a git configuration file as `git config --file FILE --no-includes` does.
 *
 * Includes are not followed: a user who may write the configuration of a repository must not be able to
 * have other files read.
 */

type ConfigValue =
  | { readonly found: 'value'; readonly value: string }
  /** The key stands alone on its line, which git takes as true. */
  | { readonly found: 'no value' }
  | { readonly found: 'nothing' }
  /** Git could not read the file. */
  | { readonly found: 'fault'; readonly line: number };

const blank = /(?:[ \t\r\n]|[#;][^\n]*)*/y;
/** `[name]`, `[name "sub section"]`, or the old `[name.sub]`, which has no case. */
const header = /\[([a-z0-9.-]+)(?:[ \t\r]+"((?:[^"\\\n]|\\[^\n])*)")?\]/iy;
/** `name`, or `name = value` with quotes, escapes and continued lines. */
const variable =
  /([a-z][a-z0-9-]*)[ \t]*(?:=((?:"(?:[^"\\\n]|\\["\\ntb\n])*"|\\["\\ntb\n]|[^"\\\n#;])*)(?:[#;][^\n]*)?)?(?:\n|$)/iy;

/** Finds the last value of `section.key` or `section.subsection.key` in the text of a configuration file. */
export function configValue(text: string, key: string): ConfigValue {
  const read = configEntries(text);
  if (read.found === 'fault') return read;
  const wanted = foldKey(key);
  const last = read.entries.findLast(entry => entry.key === wanted);
  if (last === undefined) return { found: 'nothing' };
  return last.value === null ? { found: 'no value' } : { found: 'value', value: last.value };
}

interface GitConfigEntry {
  /** Key as git spells it: the parts without case are in small letters. */
  readonly key: string;
  /** Null: the key stands alone on its line, which git takes as true. */
  readonly value: string | null;
}

/** Lists all entries of a configuration file's text, in their order. */
export function configEntries(
  text: string,
):
  | { readonly found: 'entries'; readonly entries: readonly GitConfigEntry[] }
  | { readonly found: 'fault'; readonly line: number } {
  // Git treats \r\n as \n everywhere, ignores a byte order mark at the start, and the end of the file ends a
  // line.
  const source = `${text.replace(/^\ufeff/, '').replaceAll('\r\n', '\n')}\n`;
  const entries: GitConfigEntry[] = [];
  let section = '';
  let at = 0;
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const match = pattern.exec(source);
    at += match?.[0].length ?? 0;
    return match;
  };
  for (take(blank); at < source.length; take(blank)) {
    const opened = take(header);
    if (opened !== null) {
      const [, name = '', subsection] = opened;
      section =
        name.toLowerCase() + (subsection === undefined ? '' : `.${subsection.replaceAll(/\\(.)/g, '$1')}`);
      continue;
    }
    const assigned = take(variable);
    if (assigned === null) return { found: 'fault', line: source.slice(0, at).split('\n').length };
    const [, name = '', raw] = assigned;
    entries.push({ key: `${section}.${name.toLowerCase()}`, value: raw === undefined ? null : plain(raw) });
  }
  return { found: 'entries', entries };
}

/** Names of sections and variables are compared without case, those of subsections with it. */
function foldKey(key: string): string {
  const first = key.indexOf('.');
  const last = key.lastIndexOf('.');
  return key.slice(0, first).toLowerCase() + key.slice(first, last) + key.slice(last).toLowerCase();
}

const escaped: Readonly<Record<string, string>> = { n: '\n', t: '\t', b: '\b', '\n': '' };

/** Removes quotes, escapes and the blanks around a value. */
function plain(raw: string): string {
  let value = '';
  let blanks = '';
  for (const [token] of raw.matchAll(/"(?:[^"\\]|\\.)*"|\\.|[ \t\r]+|[^"\\ \t\r]+/gs)) {
    if (/^[ \t\r]/.test(token)) {
      if (value !== '') blanks += token;
      continue;
    }
    const words = token.startsWith('"') ? token.slice(1, -1) : token;
    value += blanks + words.replaceAll(/\\(.)/gs, (_, character: string) => escaped[character] ?? character);
    blanks = '';
  }
  return value;
}
