/** Reads the configuration and the environment for a command. */

import type { AddHelpTextContext, Command } from 'commander';
import {
  type Config,
  formatFaults,
  type LoadedConfig,
  loadConfig,
  type RefusedConfig,
  type Where,
} from '../config/index.ts';
import { SoftquotaError } from '../errors.ts';
import { adminClient, type DaemonClient, mostRows } from './client.ts';
import { tellNote } from './streams.ts';

/** Receives the exit status of a command. */
export type Exit = (status: number) => void;

export interface ConfigOption {
  readonly config?: string;
}

export interface CommonOptions extends ConfigOption {
  readonly json?: boolean;
}

export function withConfigOption(
  command: Command,
  what = 'the configuration file; default: SOFTQUOTA_CONFIG, ./app.ini or /etc/softquota/app.ini',
): Command {
  return command.option('--config <file>', what);
}

/** The help of `--config` in commands that need none, so that scripts can give it to every command. */
export const unreadConfig = 'accepted as by every command, but not used';

/** Text for `addHelpText`, wrapped as the rest of the help is. */
export function wrapped(text: string): (context: AddHelpTextContext) => string {
  return ({ command, error }) => {
    const { getErrHelpWidth, getOutHelpWidth } = command.configureOutput();
    const width = (error ? getErrHelpWidth : getOutHelpWidth)?.() ?? 80;
    return command.createHelp().boxWrap(text, width);
  };
}

export function whereIs({ config }: ConfigOption): Where {
  return {
    env: process.env,
    cwd: process.cwd(),
    uid: process.getuid?.() ?? -1,
    ...(config === undefined ? {} : { file: config }),
  };
}

/** Loads the configuration; prints notes on standard error. Throws `configuration` with every fault. */
export function loadedFrom(option: ConfigOption): LoadedConfig {
  const loaded = loadConfig(whereIs(option));
  tellNotes(loaded);
  if (!loaded.ok) throw new SoftquotaError('configuration', formatFaults(loaded.faults));
  return loaded;
}

export function configFrom(option: ConfigOption): Config {
  return loadedFrom(option).config;
}

function tellNotes({ notes }: LoadedConfig | RefusedConfig): void {
  for (const line of notes) tellNote(line);
}

/** Client of the administrator's API. Reads the configuration only if the environment names no daemon. */
export function clientFrom(option: ConfigOption): DaemonClient {
  return adminClient(() => configFrom(option));
}

/** Parses a number of rows. Throws `usage`, which names the option. */
export function countOf(option: string, text: string): number {
  const count = /^\d+$/.test(text) ? Number(text) : 0;
  if (count >= 1 && count <= mostRows) return count;
  throw new SoftquotaError('usage', `${option} ${text}: expected a whole number from 1 to ${mostRows}`);
}
