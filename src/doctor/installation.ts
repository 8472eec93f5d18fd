/**
 * The things that doctor is shown (the configuration, the ways to ask the daemon, and whom it runs as), the
 * result of a check, and the lines that mend: commands for a shell, and keys to be set in app.ini.
 */

import { userName } from '../accounts.ts';
import { type LoadedConfig, type RefusedConfig, variableOf } from '../config/index.ts';
import { commandLine } from '../health/index.ts';
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

/** The part that is there without a configuration, too. */
export interface HostContext {
  /** User whom doctor runs as; 0 may look everywhere. */
  readonly uid: number;
  /** The value of `--config`, to be repeated in the commands that mend. */
  readonly configOption: string | null;
  /** The hooks' settings for the whole host. */
  readonly hookConf: string;
}

export interface Loaded {
  readonly loaded: LoadedConfig | RefusedConfig;
  /** The clients of a sound configuration. */
  readonly clients: (loaded: LoadedConfig) => Pick<Installation, 'admin' | 'gate'>;
  readonly context: HostContext;
}

/** A user that git runs as, or the daemon's. */
export interface HookUser {
  readonly uid: number;
  /** The group of the user's files, for one whom no database knows. */
  readonly gid: number;
}

export interface CheckResult {
  readonly findings: readonly Finding[];
  readonly checked?: readonly string[];
  /** The things that this user may not look at. */
  readonly missed?: readonly string[];
}

export function together(parts: readonly CheckResult[]): Required<CheckResult> {
  return {
    findings: parts.flatMap(part => part.findings),
    checked: parts.flatMap(part => part.checked ?? []),
    missed: parts.flatMap(part => part.missed ?? []),
  };
}

/** A command of ours, about the same installation. */
export function softquota(context: HostContext, command: string, ...words: readonly string[]): string {
  const { configOption } = context;
  const option = configOption === null ? [] : ['--config', configOption];
  return commandLine('softquota', ...command.split(' '), ...option, ...words);
}

/** A command as the user of files: git works on nobody else's, and what it writes has to stay theirs. */
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
