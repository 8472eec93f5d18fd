/** How repositories that do not exist yet get the hooks. */

import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { shellQuoted } from '../../text/index.ts';
import { hookNames, hooksDirectory } from './hook.ts';
import { hookConfPath } from './settings.ts';
import { placeMark, type SharedPlace } from './shared.ts';

export interface FutureRepositories {
  /**
   * Shell commands after which `git init` and `git clone` put the hooks, and the socket's path, into each new
   * repository. git's own template, with its samples, is then no longer used.
   */
  readonly templateDir: readonly string[];
  /** Shell commands after which the hooks of every repository ask at the socket. */
  readonly hookConf: readonly string[];
  /** Lines of gitolite.conf that say the same; .gitolite.rc must allow them by GIT_CONFIG_KEYS. */
  readonly gitoliteConf: readonly string[];
}

/** The settings to write for the hooks; one that is not given is not written. */
export interface HookSettings {
  readonly socket: string;
  readonly onError?: string;
  readonly lastFor?: string;
  readonly client: string | null;
}

export function futureRepositories(
  { socket, onError, lastFor, client }: HookSettings,
  shared: SharedPlace,
): FutureRepositories {
  const template = '/etc/softquota/template';
  const more = Object.entries({ onError, lastFor, client }).filter(
    ([, value]) => value !== undefined && value !== null,
  );
  const format = ['socket=%s', ...more.map(([name, value]) => `${name}=${value}`)].join('\\n');
  const hookConf = [
    `install -d ${dirname(hookConfPath)}`,
    `printf '${format}\\n' ${shellQuoted(socket)} >${hookConfPath}`,
    `chmod 644 ${hookConfPath}`,
  ];
  return {
    templateDir: [
      `install -d ${template}/hooks`,
      ...templateHooks(shared, `${template}/hooks`),
      `git config --file ${template}/config softquota.socket ${shellQuoted(socket)}`,
      ...more.map(([name, value]) => `git config --file ${template}/config softquota.${name} ${value}`),
      `git config --system init.templateDir ${template}`,
    ],
    hookConf,
    gitoliteConf: [
      'repo @all',
      `    config softquota.socket = ${socket}`,
      ...more.map(([name, value]) => `    config softquota.${name} = ${value}`),
    ],
  };
}

/** Shell commands that put the hooks, or stubs that run the shared ones, into a directory. */
function templateHooks(shared: SharedPlace, directory: string): readonly string[] {
  const packaged = (file: string): string => shellQuoted(fileURLToPath(new URL(file, hooksDirectory)));
  if (shared === 'none') {
    return [`install -m 755 ${hookNames.map(packaged).join(' ')} ${directory}`];
  }
  const stubs = hookNames.map(name => {
    const edit = shellQuoted(`s|${placeMark}|${shared}/${name}|`);
    return `sed ${edit} ${packaged(`stubs/${name}`)} >${directory}/${name}`;
  });
  return [...stubs, `chmod 755 ${hookNames.map(name => `${directory}/${name}`).join(' ')}`];
}
