/**
 * The input of doctor (the configuration, the clients of the daemon, and doctor's user), the report to which
 * each check adds, and the texts of fixes: shell commands, and keys to set in app.ini.
 */

import { userName } from '../accounts.ts';
import { type LoadedConfig, type RefusedConfig, variableOf } from '../config/index.ts';
import { commandLine, makeFinding } from '../health/index.ts';
import { isSupervised } from '../supervised.ts';
import type { Finding } from '../wire/index.ts';

/** GETs from a socket; rejects with `unreachable` or `not_permitted`. */
export type Ask = (path: string) => Promise<{
  readonly status: number;
  readonly json: unknown;
}>;

export interface Installation {
  readonly loaded: LoadedConfig;
  readonly admin: Ask;
  readonly gate: Ask;
  readonly context: HostContext;
}

/** The input that exists also without a configuration. */
export interface HostContext {
  /** The user of doctor; 0 may read everything. */
  readonly uid: number;
  /** The value of `--config`, which the commands of fixes repeat. */
  readonly configOption: string | null;
}

export interface Loaded {
  readonly loaded: LoadedConfig | RefusedConfig;
  /** Makes the clients for a valid configuration. */
  readonly clients: (loaded: LoadedConfig) => Pick<Installation, 'admin' | 'gate'>;
  readonly context: HostContext;
}

/** A user that git runs as, or the daemon's. */
export interface HookUser {
  readonly uid: number;
  /** The group of the user's files, used if no database knows the user. */
  readonly gid: number;
}

export class Report {
  readonly findings: Finding[] = [];
  readonly checked: string[] = [];
  /** Things that this user has no permission to check. */
  readonly missed: string[] = [];

  found(...finding: Parameters<typeof makeFinding>): void {
    this.findings.push(makeFinding(...finding));
  }

  add({ findings, checked, missed }: Report): void {
    this.findings.push(...findings);
    this.checked.push(...checked);
    this.missed.push(...missed);
  }
}

/** A command of softquota for the same installation. */
export function softquota(context: HostContext, command: string, ...words: readonly string[]): string {
  const { configOption } = context;
  const option = configOption === null ? [] : ['--config', configOption];
  return commandLine('softquota', ...command.split(' '), ...option, ...words);
}

/** A command as the owner of files: git works only on its user's files, and new files must be the owner's. */
export function asUser(context: HostContext, uid: number, ...words: readonly string[]): string {
  if (uid === context.uid) return commandLine(...words);
  const name = userName(uid);
  if (name !== null) return commandLine('runuser', '-u', name, '--', ...words);
  return commandLine('setpriv', `--reuid=${uid}`, '--clear-groups', ...words);
}

/** Says how to set a key at the place of its present value, and how to make the daemon read it. */
export function setKey(
  { loaded }: Pick<Installation, 'loaded'>,
  section: string,
  key: string,
  value: string,
  then: 'reload' | 'restart',
): string {
  const { file } = loaded.config;
  const written = loaded.given.find(entry => entry.section === section && entry.name === key);
  if (file === null || written?.origin.in === 'variable') {
    return `set the variable ${variableOf(section, key)}=${value}; then ${restart(file)}`;
  }
  return `in ${file} set [${section}] ${key} = ${value}; then ${then === 'reload' ? reload(file) : restart(file)}`;
}

/** Restarts the daemon with this configuration. */
export function restart(file: string | null): string {
  return isSupervised(file) ? 'systemctl restart softquota' : 'restart the daemon';
}

function reload(file: string | null): string {
  return isSupervised(file) ? 'systemctl reload softquota' : 'send the daemon SIGHUP';
}

/** The unit of the worker is for the same configuration as the daemon's. */
export function worker(file: string | null, command: string): string {
  if (isSupervised(file)) return command;
  return command.includes('restart') ? 'restart the worker' : 'start the worker';
}

/** The commands that the daemon's fixes name. */
const named =
  /\bsoftquota (scan|usage|events|reclaim|worker|store repair|host forget|notices send-again|user edit)\b/g;

/** Completes a fix from the daemon, which knows neither doctor's `--config` nor the service manager. */
export function localized({ loaded, context }: Installation, found: Finding): Finding {
  const option = context.configOption === null ? '' : ` ${commandLine('--config', context.configOption)}`;
  const { file } = loaded.config;
  const mend = found.mend
    .replaceAll(named, command => command + option)
    .replaceAll('restart the daemon', () => restart(file))
    .replaceAll('reload the daemon', () => reload(file))
    .replaceAll(/systemctl (?:enable --now|restart) softquota-worker/g, command => worker(file, command));
  return { ...found, mend };
}
