/** The lines that mend: commands for a shell, and keys to be set in app.ini. */

import { existsSync } from 'node:fs';
import { userName } from '../accounts.ts';
import { variableOf } from '../config/index.ts';
import { commandLine } from '../health/index.ts';
import type { Finding } from '../wire/index.ts';
import type { HostContext, Installation } from './installation.ts';

/** A command of ours, about the same installation. */
export function softquota(context: HostContext, command: string, ...words: readonly string[]): string {
  const { configOption } = context;
  const option = configOption === null ? [] : ['--config', configOption];
  return commandLine('softquota', ...command.split(' '), ...option, ...words);
}

/**
 * A command as the user that files belong to: git works on nobody else's, and what it writes has to stay
 * theirs.
 */
export function asUser(context: HostContext, uid: number, ...words: readonly string[]): string {
  if (uid === context.uid) return commandLine(...words);
  const name = userName(uid);
  if (name !== null) return commandLine('runuser', '-u', name, '--', ...words);
  return commandLine('setpriv', `--reuid=${uid}`, '--clear-groups', ...words);
}

/** A key to be set, where its value stands now, and what makes the daemon take it. */
export function setKey(
  { loaded }: Pick<Installation, 'loaded'>,
  section: string,
  key: string,
  value: string,
  then: 'reload' | 'restart',
): string {
  const written = loaded.given.find(entry => entry.section === section && entry.name === key);
  const take = then === 'reload' ? reload() : restart();
  if (loaded.config.file === null || written?.origin.in === 'variable') {
    return `set the variable ${variableOf(section, key)}=${value}; then ${restart()}`;
  }
  return `in ${loaded.config.file} set [${section}] ${key} = ${value}; then ${take}`;
}

/** The directories of systemd's units, those of the administrator first. */
export const unitFolders = ['/etc/systemd/system', '/usr/lib/systemd/system', '/lib/systemd/system'];

function isSupervised(): boolean {
  return unitFolders.some(folder => existsSync(`${folder}/softquota.service`));
}

export function start(context: HostContext): string {
  return isSupervised() ? 'systemctl start softquota' : softquota(context, 'serve');
}

export function restart(): string {
  return isSupervised() ? 'systemctl restart softquota' : 'restart the daemon';
}

function reload(): string {
  return isSupervised() ? 'systemctl reload softquota' : 'send the daemon SIGHUP';
}

/** A mend of the daemon's, which knows neither how doctor was called nor who supervises it. */
export function localized(context: HostContext, found: Finding): Finding {
  const option = context.configOption === null ? '' : ` ${commandLine('--config', context.configOption)}`;
  const mend = found.mend
    .replaceAll(/\bsoftquota (scan|usage)\b/g, command => command + option)
    .replaceAll('restart the daemon', restart)
    .replaceAll('reload the daemon', reload);
  return { ...found, mend };
}
