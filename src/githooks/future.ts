/** How repositories that do not exist yet get the hooks. */

import { fileURLToPath } from 'node:url';
import { hookNames, hooksDirectory } from './hook.ts';

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
}

export function futureRepositories(socket: string): FutureRepositories {
  const template = '/etc/softquota/template';
  const site = '/etc/softquota/hooks';
  const hooks = hookNames.map(name => quoted(fileURLToPath(new URL(name, hooksDirectory)))).join(' ');
  return {
    templateDir: [
      `install -d ${template}/hooks`,
      `install -m 755 ${hooks} ${template}/hooks`,
      `git config --file ${template}/config softquota.socket ${quoted(socket)}`,
      `git config --system init.templateDir ${template}`,
    ],
    hooksPath: [
      `install -d ${site}`,
      `install -m 755 ${hooks} ${site}`,
      `printf 'socket=%s\\n' ${quoted(socket)} >/etc/softquota/hook.conf`,
      'chmod 644 /etc/softquota/hook.conf',
      `git config --system core.hooksPath ${site}`,
    ],
  };
}

/** For a shell, whatever the text holds. */
function quoted(text: string): string {
  return /^[\w./@%+:-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
