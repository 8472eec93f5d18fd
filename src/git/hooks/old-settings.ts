/**
 * Settings and files that release 0.1 kept outside of its hooks: softquota.* in the configurations of
 * repositories, softquota-* files beside their objects, and /etc/softquota/hook.conf. Installing takes on what
 * was chosen there, and removes it from the repository.
 */

import { readdir } from 'node:fs/promises';
import { readBounded } from '../../bounded/index.ts';
import { readFacts, unsetKeys } from './config.ts';
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

/** The settings of 0.1 in the repository's own configuration, which need not be one that git can read. */
function oldValues(repository: Folder): ReadonlyMap<string, string> {
  const config = repository.entry('config');
  if (config.kind !== 'file' || !/softquota/i.test(config.bytes.toString('latin1'))) return new Map();
  return readFacts(repository).oldSettings;
}

/** hook.conf counted instead of the repository's own settings. */
export function readOldSettings(repository: Folder, hookConf: string): OldSettings {
  const file = readBounded(hookConf, { follow: true });
  if (file.kind === 'file') return settingsOf(new Map(linesOf(file.bytes.toString())));
  return settingsOf(oldValues(repository));
}

function linesOf(text: string): [string, string][] {
  return text.split('\n').flatMap(line => {
    const setting = line.trim();
    const [key = ''] = /^[A-Za-z]+(?=[ \t=])/.exec(setting) ?? [];
    return key === ''
      ? []
      : [[`softquota.${key.toLowerCase()}`, setting.slice(key.length).replace(/^[ \t=]+/, '')]];
  });
}

function settingsOf(values: ReadonlyMap<string, string>): OldSettings {
  const onError = taken(values.get('softquota.onerror'), parseOnError);
  const lastFor = taken(values.get('softquota.lastfor'), parseLastFor);
  return { ...(onError !== null && { onError }), ...(lastFor !== null && { lastFor }) };
}

function taken<Value>(text: string | undefined, parse: (text: string) => Value): Value | null {
  try {
    return text === undefined ? null : parse(text);
  } catch {
    return null;
  }
}

/** Removes what 0.1 kept in a repository. */
export async function removeOld(repository: Folder): Promise<void> {
  for (const name of await oldFiles(repository)) await repository.remove(name);
  const values = oldValues(repository);
  if (values.size > 0) await unsetKeys(repository, values.keys());
}
