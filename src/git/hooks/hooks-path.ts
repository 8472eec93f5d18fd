/** core.hooksPath: where it is set, git runs the hooks of that directory and not the repository's. */

import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type SystemAccount, systemAccounts } from '../../accounts.ts';
import { readBounded } from '../../bounded/index.ts';
import { beforeFollow, encodePath, saysHangs } from '../../layout/index.ts';
import { type ConfigFacts, configSetting } from './config.ts';
import type { Folder } from './folder.ts';
import { type HookName, hookNames } from './hook.ts';
import { isCurrentEntry } from './inspect.ts';

export interface HooksPath {
  /** The path as the configuration has it. */
  readonly path: string;
  /** The file that says so, or `the system's configuration`. */
  readonly from: string;
  /** The directory that it leads to; absolute. */
  readonly directory: string;
  /** Tells whether this version's hooks lie there, so that pushes are asked about all the same. */
  readonly ours: boolean;
}

type Setting = Pick<HooksPath, 'path' | 'from'>;

const key = 'core.hooksPath';

/** Answers for one repository after the other; what is the same for all is read once. */
type HooksPathFinder = (repository: Folder, facts: ConfigFacts) => Promise<HooksPath | null>;

/**
 * Looks for it as git does when the repository's owner runs it: in the
 * repository's config, the owner's two, the system's. Null where none says so, or where it
 * is the repository's own `hooks` after all. `passwd` is the file that tells the owner's home.
 */
export function hooksPathFinder(passwd = '/etc/passwd'): HooksPathFinder {
  const ofOwners = new Map<number, Promise<Setting | null>>();
  let ofSystem: Promise<Setting | null> | undefined;

  return async (repository, facts) => {
    const { uid } = repository.stats;
    const owners = ofOwners.get(uid) ?? ofOwner(uid, passwd);
    ofOwners.set(uid, owners);
    ofSystem ??= settingOf(configSetting('system', key), "the system's configuration");
    const own =
      facts.hooksPath === null ? null : { path: facts.hooksPath, from: `${repository.path}/config` };
    const found = own ?? (await owners) ?? (await ofSystem);
    if (found === null) return null;
    const directory = directoryOf(found.path, repository, passwd);
    if (directory === join(repository.path, 'hooks')) return null;
    const ours = hookNames.every(name => isCurrentAt(name, join(directory, name)));
    return { ...found, directory, ours };
  };
}

/** Relative to the repository, in which git runs hooks; `~/` is the owner's home. */
function directoryOf(path: string, repository: Folder, passwd: string): string {
  if (!path.startsWith('~/')) return resolve(repository.path, path);
  const home = accountOf(repository.stats.uid, passwd)?.home ?? '/';
  return resolve(home, path.slice(2));
}

function isCurrentAt(name: HookName, path: string): boolean {
  try {
    beforeFollow(path);
    return isCurrentEntry(name, readBounded(encodePath(path), { follow: true }));
  } catch {
    return false;
  }
}

/** Finds the account of a number in a file as passwd(5), if it has a home. */
function accountOf(uid: number, passwd: string): SystemAccount | undefined {
  return systemAccounts(passwd).users.find(user => user.uid === uid && user.home !== '');
}

async function ofOwner(uid: number, passwd: string): Promise<Setting | null> {
  const account = accountOf(uid, passwd);
  if (account === undefined) return null;
  const { gid, home } = account;
  for (const file of [join(home, '.gitconfig'), join(home, '.config/git/config')]) {
    if (isNoFile(file)) continue;
    const found = await settingOf(configSetting({ file, owner: { uid, gid } }, key), file);
    if (found !== null) return found;
  }
  return null;
}

/**
 * Tells whether git would wait there: something else is there, such as a pipe, or the disk does not answer.
 */
function isNoFile(path: string): boolean {
  try {
    beforeFollow(path);
    return statSync(path, { throwIfNoEntry: false })?.isFile() === false;
  } catch (error) {
    return saysHangs(error); // else git says what it can
  }
}

async function settingOf(value: Promise<string | null>, from: string): Promise<Setting | null> {
  const path = await value;
  return path ? { path, from } : null;
}
