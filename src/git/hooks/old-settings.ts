/**
 * Settings and files that release 0.1 kept outside of its hooks: softquota.* in the configurations of
 * repositories, softquota-* files beside their objects, and /etc/softquota/hook.conf. Installing takes on what
 * was chosen there, and removes it from the repository.
 */

import { readdir } from 'node:fs/promises';
import { readBounded } from '../../bounded/index.ts';
import { changeConfig, git, oldKeys, readConfig } from './config.ts';
import type { Folder } from './folder.ts';
import { type HookSettings, parseLastFor, parseOnError } from './head.ts';

export const hookConfPath = '/etc/softquota/hook.conf';

/** Settings of release 0.1 that stay in force. A value that its hooks did not take is left out. */
export type OldSettings = Partial<Pick<HookSettings, 'onError' | 'lastFor'>>;

/** A file of 0.1 in a repository; a hook that was killed left one with its process number behind. */
const oldFile = /^softquota-(?:promise|judging|space|offline)(?:\.\d+)?$/;

export async function oldFiles(repository: Folder): Promise<readonly string[]> {
  const names = await readdir(repository.at('.'));
  return names.filter(name => oldFile.test(name) && repository.entry(name).kind === 'file').sort();
}

/** The settings of 0.1 in the repository's own configuration, by the lower-case name of each. */
async function oldValues(repository: Folder): Promise<ReadonlyMap<string, string>> {
  const config = repository.entry('config');
  if (config.kind !== 'file' || !/softquota/i.test(config.bytes.toString('latin1'))) return new Map();
  const found = await readConfig(repository, oldKeys.source);
  return new Map([...found].map(([key, value]) => [key.slice('softquota.'.length), value]));
}

/** hook.conf counted instead of the repository's own settings. */
export async function readOldSettings(repository: Folder, hookConf: string): Promise<OldSettings> {
  const file = readBounded(hookConf, { follow: true });
  if (file.kind === 'file') return settingsOf(new Map(linesOf(file.bytes.toString())));
  return settingsOf(await oldValues(repository));
}

function linesOf(text: string): [string, string][] {
  return text.split('\n').flatMap(line => {
    const setting = line.trim();
    const [key = ''] = /^[A-Za-z]+(?=[ \t=])/.exec(setting) ?? [];
    return key === '' ? [] : [[key.toLowerCase(), setting.slice(key.length).replace(/^[ \t=]+/, '')]];
  });
}

function settingsOf(values: ReadonlyMap<string, string>): OldSettings {
  const onError = taken(values.get('onerror'), parseOnError);
  const lastFor = taken(values.get('lastfor'), parseLastFor);
  return { ...(onError !== null && { onError }), ...(lastFor !== null && { lastFor }) };
}

function taken<Value>(text: string | undefined, parse: (text: string) => Value): Value | null {
  try {
    return text === undefined ? null : parse(text);
  } catch {
    return null;
  }
}

/** Removes what 0.1 kept in a repository; true if there was anything. */
export async function removeOld(repository: Folder): Promise<boolean> {
  const files = await oldFiles(repository);
  for (const name of files) await repository.remove(name);
  const keys = [...(await oldValues(repository)).keys()];
  if (keys.length === 0) return files.length > 0;
  await changeConfig(repository, async file => {
    for (const key of keys) await git(['config', '--file', file, '--unset-all', `softquota.${key}`]);
  });
  return true;
}
