/**
 * Finds GitLab's database through its own configuration: `gitlab.rb` of a package or a container, or
 * `database.yml` of an installation from source.
 *
 * `gitlab.rb` is a program, which is not run: literal texts and numbers are read, and any other value is an
 * error.
 */

import { printable } from '../../text.ts';
import { textOfConfig } from '../app-ini.ts';
import { type DatabaseServerAddress, defaultPorts, ForgeFault, tlsModeOf } from '../database.ts';

/** Defaults of GitLab's package. */
const packaged = {
  host: '/var/opt/gitlab/postgresql',
  username: 'gitlab',
  database: 'gitlabhq_production',
} as const;

export function databaseOfGitlab(
  file: string,
  env: Readonly<Record<string, string | undefined>>,
): DatabaseServerAddress {
  const text = textOf(file);
  const isYaml = /\.ya?ml$/.test(file);
  // The container image evaluates the variable before the file.
  const settings = isYaml ? databaseYaml(text) : rubySettings(`${env.GITLAB_OMNIBUS_CONFIG ?? ''}\n${text}`);
  const value = (name: string, usual: string | null = null): string | null => {
    const setting = settings.get(name);
    if (setting === undefined) return usual;
    if (setting !== null) return setting === '' ? usual : setting;
    const shown = isYaml ? name : `gitlab_rails['db_${name}']`;
    throw faultIn(file, `${shown} is computed there, which softquota does not do`);
  };
  const adapter = value('adapter', 'postgresql') ?? '';
  if (adapter !== 'postgresql') throw faultIn(file, `the adapter ${printable(adapter)} is not postgresql`);
  const host = value('host', isYaml ? 'localhost' : packaged.host);
  const user = value('username', isYaml ? null : packaged.username);
  const database = value('database', isYaml ? null : packaged.database);
  if (host === null || user === null || database === null) {
    throw faultIn(file, 'production has no username or no database');
  }
  const tls = tlsModeOf(value('sslmode', 'disable') ?? 'disable');
  if (tls === null) throw faultIn(file, 'sslmode is not known');
  const port = Number(value('port', String(defaultPorts.postgres)));
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw faultIn(file, 'the port is not a number');
  return {
    engine: 'postgres',
    host: host.split(',')[0]?.trim() ?? host,
    port,
    user,
    password: value('password'),
    database,
    tls,
    schema: null,
  };
}

/** Reads the settings `gitlab_rails['db_…']`; the last one of a name counts. */
function rubySettings(text: string): ReadonlyMap<string, Setting> {
  const settings = new Map<string, Setting>();
  const line = /^gitlab_rails\[(["'])(?:databases\1\]\[(["'])main\2\]\[(["']))?db_(\w+)["']\]\s*=(.*)$/;
  for (const statement of text.split(/\r?\n|;(?=\s*\w+(?:\[|\())/)) {
    const match = line.exec(statement.trim());
    if (match?.[4] !== undefined) settings.set(match[4], rubyValue(match[5] ?? ''));
  }
  return settings;
}

function rubyValue(written: string): Setting {
  const text =
    /^(?:"((?:[^"\\#]|#(?!\{)|\\["\\])*)"|'((?:[^'\\]|\\['\\])*)'|(\d+)|(nil|false))\s*(?:#.*)?$/.exec(
      written.trim(),
    );
  if (text === null) return null;
  const [, double, single, number] = text;
  return (double ?? single ?? number ?? '').replace(/\\(["'\\])/g, '$1');
}

function textOf(file: string): string {
  return textOfConfig(
    file,
    what => faultIn(file, what),
    'set [forge] DATABASE with a user who can only read, instead of CONFIG',
  );
}

function faultIn(file: string, what: string): ForgeFault {
  return new ForgeFault(
    'configuration',
    `${printable(file)}: ${what}`,
    'set [forge] DATABASE in app.ini, with a user who can only read',
  );
}

/** A literal value; null if the file computes it. */
type Setting = string | null;

/**
 * Reads the settings of `production` in GitLab's database.yml: from `main` below it, or in older files
 * directly.
 *
 * Only the part of YAML that such files use is parsed: names and values by indentation. Computed values (`<%=
 * … %>`, anchors) become null.
 */
function databaseYaml(text: string): ReadonlyMap<string, Setting> {
  const settings = new Map<string, Setting>();
  /** Names of the enclosing lines, with their indentation. */
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
    if (value === undefined) continue;
    if (path === 'production.main' || (path === 'production' && !settings.has(name)))
      settings.set(name, value);
  }
  return settings;
}

/** Parses a value; undefined if further names follow below. */
function valueIn(written: string): Setting | undefined {
  const quoted = /^(?:"((?:[^"\\]|\\["\\])*)"|'((?:[^']|'')*)')\s*(?:#.*)?$/.exec(written);
  if (quoted !== null) {
    const [, double, single = ''] = quoted;
    return double?.replace(/\\(["\\])/g, '$1') ?? single.replaceAll("''", "'");
  }
  const plain = written.replace(/(?:^|\s)#.*$/, '').trim();
  if (plain === '') return undefined;
  if (/^[<&*!|>{["'%@`]/.test(plain) || plain.includes('<%')) return null;
  return plain === 'null' || plain === '~' ? '' : plain;
}
