/** How repositories that do not exist yet get the hooks. */

import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { hookNames, hooksDirectory } from './hook.ts';
import { hookConfPath } from './settings.ts';

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

/** What is to be said to the hooks; of what is not given, nothing is said. */
export interface HookSettings {
  readonly socket: string;
  readonly onError?: string;
  readonly lastFor?: string;
}

export function futureRepositories({ socket, onError, lastFor }: HookSettings): FutureRepositories {
  const template = '/etc/softquota/template';
  const more = Object.entries({ onError, lastFor }).filter(([, value]) => value !== undefined);
  const format = ['socket=%s', ...more.map(([name, value]) => `${name}=${value}`)].join('\\n');
  const hookConf = [
    `install -d ${dirname(hookConfPath)}`,
    `printf '${format}\\n' ${quoted(socket)} >${hookConfPath}`,
    `chmod 644 ${hookConfPath}`,
  ];
  const hooks = hookNames.map(name => quoted(fileURLToPath(new URL(name, hooksDirectory)))).join(' ');
  return {
    templateDir: [
      `install -d ${template}/hooks`,
      `install -m 755 ${hooks} ${template}/hooks`,
      `git config --file ${template}/config softquota.socket ${quoted(socket)}`,
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

/** For a shell, whatever the text holds. */
function quoted(text: string): string {
  return /^[\w./@%+:-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
