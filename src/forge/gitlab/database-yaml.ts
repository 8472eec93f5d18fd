/**
 * The settings of `production` in GitLab's database.yml: of `main` below it, or, in older files, right there.
 *
 * Only what such a file is made of is read: names and values by indentation. Values that are computed
 * (`<%= … %>`, anchors) are told as such.
 */

/** A value that is written, or one that only GitLab knows. */
export type Setting = { readonly is: 'text'; readonly text: string } | { readonly is: 'computed' };

export function databaseYaml(text: string): ReadonlyMap<string, Setting> {
  const settings = new Map<string, Setting>();
  /** The names above a line, with their indentation. */
  const above: { readonly indent: number; readonly name: string }[] = [];
  for (const line of text.split(/\r?\n/)) {
    const match = /^( *)(["']?)([\w-]+)\2:(.*)$/.exec(line);
    if (match === null) continue;
    const [, spaces = '', , name = '', written = ''] = match;
    if (/^\S/.test(written)) continue;
    while ((above.at(-1)?.indent ?? -1) >= spaces.length) above.pop();
    const path = above.map(one => one.name).join('.');
    above.push({ indent: spaces.length, name });
    const value = valueIn(written.trim());
    if (value === null) continue;
    if (path === 'production.main' || (path === 'production' && !settings.has(name)))
      settings.set(name, value);
  }
  return settings;
}

/** Null: names follow below. */
function valueIn(written: string): Setting | null {
  const quoted = /^(?:"((?:[^"\\]|\\["\\])*)"|'((?:[^']|'')*)')\s*(?:#.*)?$/.exec(written);
  if (quoted !== null) {
    const [, double, single] = quoted;
    return {
      is: 'text',
      text: double?.replace(/\\(["\\])/g, '$1') ?? single?.replaceAll("''", "'") ?? '',
    };
  }
  const plain = written.replace(/(?:^|\s)#.*$/, '').trim();
  if (plain === '') return null;
  if (/^[<&*!|>{["'%@`]/.test(plain) || plain.includes('<%')) return { is: 'computed' };
  return { is: 'text', text: plain === 'null' || plain === '~' ? '' : plain };
}
