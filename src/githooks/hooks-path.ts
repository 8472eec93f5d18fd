/** core.hooksPath: where it is set, git runs the hooks of that directory and not the repository's. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Folder } from './folder.ts';
import { git, type RepositorySettings } from './settings.ts';

export interface HooksPath {
  /** As it is written. */
  readonly path: string;
  /** The file that says so, or `the system's configuration`. */
  readonly from: string;
}

/** Answers for one repository after the other; what is the same for all is read once. */
export type HooksPathFinder = (repository: Folder, settings: RepositorySettings) => Promise<HooksPath | null>;

/**
 * As git looks for it on behalf of the repository's owner, who it is assumed to run as: the
 * repository's config, the owner's two, the system's. Null where none says so, or where it
 * is the repository's own `hooks` after all. `passwd` is the file that tells the owner's home.
 */
export function hooksPathFinder(passwd = '/etc/passwd'): HooksPathFinder {
  const ofOwners = new Map<number, Promise<HooksPath | null>>();
  let ofSystem: Promise<HooksPath | null> | undefined;

  return async (repository, settings) => {
    const { uid } = repository.stats;
    const owners = ofOwners.get(uid) ?? ofOwner(uid, passwd);
    ofOwners.set(uid, owners);
    ofSystem ??= hooksPathIn(['--system'], "the system's configuration");
    const own =
      settings.hooksPath === null ? null : { path: settings.hooksPath, from: `${repository.path}/config` };
    const found = own ?? (await owners) ?? (await ofSystem);
    if (found === null) return null;
    const isOwn = ['hooks', 'hooks/', './hooks', `${repository.path}/hooks`].includes(found.path);
    return isOwn ? null : found;
  };
}

async function ofOwner(uid: number, passwd: string): Promise<HooksPath | null> {
  const lines = await readFile(passwd, 'utf8').catch(() => '');
  const fields = lines.split('\n').map(line => line.split(':'));
  const home = fields.find(([, , id]) => id === String(uid))?.[5];
  if (!home) return null;
  for (const file of [join(home, '.gitconfig'), join(home, '.config/git/config')]) {
    const found = await hooksPathIn(['--file', file], file);
    if (found !== null) return found;
  }
  return null;
}

/** A file that is not there, or that git cannot read, says nothing. */
async function hooksPathIn(source: readonly string[], from: string): Promise<HooksPath | null> {
  const output = await git(['config', ...source, '-z', '--get', 'core.hooksPath']).catch(() => '');
  const path = output.split('\0')[0];
  return path ? { path, from } : null;
}
