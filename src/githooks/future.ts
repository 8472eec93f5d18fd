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
  /**
   * Shell commands after which git runs the hooks for all repositories, those that exist
   * included, instead of the ones in them; of those only pre-receive and post-receive then run, after ours.
   */
  readonly hooksPath: readonly string[];
  /** Shell commands after which the hooks of every repository ask at the socket. */
  readonly hookConf: readonly string[];
  /** Lines of gitolite.conf that say the same; .gitolite.rc must allow them by GIT_CONFIG_KEYS. */
  readonly gitoliteConf: readonly string[];
}

/** Where `onError` is null, nothing is said of it. */
export function futureRepositories(socket: string, onError: string | null): FutureRepositories {
  const template = '/etc/softquota/template';
  const site = '/etc/softquota/hooks';
  const hookConf = [
    `install -d ${dirname(hookConfPath)}`,
    onError === null
      ? `printf 'socket=%s\\n' ${quoted(socket)} >${hookConfPath}`
      : `printf 'socket=%s\\nonError=%s\\n' ${quoted(socket)} ${onError} >${hookConfPath}`,
    `chmod 644 ${hookConfPath}`,
  ];
  const hooks = hookNames.map(name => quoted(fileURLToPath(new URL(name, hooksDirectory)))).join(' ');
  return {
    templateDir: [
      `install -d ${template}/hooks`,
      `install -m 755 ${hooks} ${template}/hooks`,
      `git config --file ${template}/config softquota.socket ${quoted(socket)}`,
      ...(onError === null ? [] : [`git config --file ${template}/config softquota.onError ${onError}`]),
      `git config --system init.templateDir ${template}`,
    ],
    hooksPath: [
      `install -d ${site}`,
      `install -m 755 ${hooks} ${site}`,
      ...hookConf.slice(1),
      `git config --system core.hooksPath ${site}`,
    ],
    hookConf,
    gitoliteConf: [
      'repo @all',
      `    config softquota.socket = ${socket}`,
      ...(onError === null ? [] : [`    config softquota.onError = ${onError}`]),
    ],
  };
}

/** For a shell, whatever the text holds. */
function quoted(text: string): string {
  return /^[\w./@%+:-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
