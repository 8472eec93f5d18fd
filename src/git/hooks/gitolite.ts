/**
 * gitolite: it links what lies in one folder into each of its repositories, those to come included, so that
 * is where the hooks go.
 *
 * gitolite is asked where that is, and told to link, as the user that it belongs to: its configuration is a
 * program, and nobody else's than that user's.
 */

import { access, constants, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type SystemAccount, systemAccounts } from '../../accounts.ts';
import { runProgram } from '../../bounded/index.ts';
import { SoftquotaError, systemCode } from '../../errors.ts';
import { beforeFollow, saysHangs } from '../../layout/index.ts';
import { reasonOf } from './reason.ts';

export interface Gitolite {
  /** The user that it belongs to. */
  readonly user: string;
  /** Physical path of that user's home. */
  readonly home: string;
  /** Below it lie the repositories. */
  readonly repositories: string;
  /** The directory whose files are linked into each repository's `hooks`; need not exist yet. */
  readonly common: string;
  /** The directory whose files are linked after `common`, in place of the same names; null: only that one. */
  readonly overriding: string | null;
  /** Tells whether `common` is part of what administrators push to the repository gitolite-admin. */
  readonly isPushed: boolean;
  /** Has it link what lies there now into each repository; rejects with `conflict`. */
  link(): Promise<void>;
}

/** Sources of the host's users and of the user who runs this; the system's unless given. */
interface UserLookup {
  readonly passwd?: string;
  readonly uid?: number;
}

/**
 * The gitolite in this home, or with `auto` the only one among the homes of the host's users. Rejects with
 * `usage` where there is none, or several, with `not_permitted` where only its user or root can ask it, and
 * with `conflict` where it does not answer.
 */
export async function findGitolite(where: string, lookup: UserLookup = {}): Promise<Gitolite> {
  const users = systemAccounts(lookup.passwd).users.filter(({ home }) => home.startsWith('/'));
  const user = where === 'auto' ? await onlyUser(users) : await userAt(where, users);
  const uid = lookup.uid ?? process.getuid?.() ?? 0;
  if (uid !== 0 && uid !== user.uid) {
    throw new SoftquotaError('not_permitted', `run this as root, or as ${user.name}, the user of gitolite`);
  }
  const ask = await gitoliteOf(user, uid);
  const value = async (name: string) => (await ask(['query-rc', '-n', name])).trim();
  const base = await value('GL_ADMIN_BASE');
  const local = await value('LOCAL_CODE');
  const own = join(base, 'hooks/common');
  return {
    user: user.name,
    home: user.home,
    repositories: await physical(await value('GL_REPO_BASE')),
    common: local === '' ? own : join(local, 'hooks/common'),
    overriding: local === '' ? null : own,
    isPushed: local !== '' && `${local}/`.startsWith(`${base}/`),
    link: async () => void (await ask(['setup', '--hooks-only'])),
  };
}

const rcFile = '.gitolite.rc';

async function onlyUser(users: readonly SystemAccount[]): Promise<SystemAccount> {
  const found: SystemAccount[] = [];
  for (const user of users) {
    if (await isThere(join(user.home, rcFile))) found.push({ ...user, home: await physical(user.home) });
  }
  const [first] = found;
  if (first === undefined) {
    throw new SoftquotaError(
      'usage',
      `no user has gitolite (${rcFile} in the home directory); name the home directory: --gitolite HOME`,
    );
  }
  if (found.some(({ home }) => home !== first.home)) {
    const homes = [...new Set(found.map(({ home }) => home))];
    throw new SoftquotaError(
      'usage',
      `several users have gitolite: ${homes.join(', ')}; name one: --gitolite HOME`,
    );
  }
  return first;
}

async function isThere(path: string): Promise<boolean> {
  return mayUse(path, constants.F_OK);
}

/** A disk that does not answer lets nobody. */
async function mayUse(path: string, mode: number): Promise<boolean> {
  try {
    beforeFollow(path);
    await access(path, mode);
    return true;
  } catch (error) {
    if (systemCode(error) === null) throw error;
    return false;
  }
}

async function physical(path: string): Promise<string> {
  beforeFollow(path);
  return realpath(path);
}

/** gitolite runs as the owner of its configuration. */
async function userAt(where: string, users: readonly SystemAccount[]): Promise<SystemAccount> {
  try {
    const home = await physical(where);
    const file = join(home, rcFile);
    beforeFollow(file);
    const { uid, gid } = await stat(file);
    const name = users.find(user => user.uid === uid)?.name ?? String(uid);
    return { name, uid, gid, home };
  } catch (cause) {
    if (systemCode(cause) === null) throw cause;
    if (saysHangs(cause))
      throw new SoftquotaError('not_ready', `${where}: the disk does not answer`, { cause });
    throw new SoftquotaError(
      'usage',
      `${where} is not the home directory of gitolite's user: ${rcFile} cannot be read there`,
      {
        cause,
      },
    );
  }
}

/** It writes links into thousands of repositories. */
const timeoutMs = 600_000;

/** Runs the user's gitolite; rejects with `conflict` where it fails. */
async function gitoliteOf(
  user: SystemAccount,
  uid: number,
): Promise<(args: readonly string[]) => Promise<string>> {
  const program = await programOf(user);
  const env = { HOME: user.home, USER: user.name, LOGNAME: user.name, LC_ALL: 'C' };
  const identity = uid === 0 ? { user: { uid: user.uid, gid: user.gid } } : {};
  return async args => {
    const fault = (why: string, cause?: unknown) =>
      new SoftquotaError('conflict', `gitolite ${args.join(' ')}, run as ${user.name}: ${why}`, { cause });
    const options = { cwd: user.home, env, timeoutMs, ...identity };
    // A program that is started there has this process wait until it begins.
    beforeFollow(user.home);
    const { status, output, complaint } = await runProgram(program, args, options).catch((cause: unknown) => {
      throw fault(reasonOf(cause), cause);
    });
    // Asked for what is not set, it ends with 1 and without a word.
    if (status === 0 || (status === 1 && complaint === '')) return output;
    throw fault(complaint || `it ended with ${status}`);
  };
}

/** Finds gitolite's program in the folders of its documentation and of packages. */
async function programOf({ name, home }: SystemAccount): Promise<string> {
  const folders = [`${home}/bin`, ...(process.env.PATH ?? '').split(':'), '/usr/local/bin', '/usr/bin'];
  for (const folder of folders.filter(each => each.startsWith('/'))) {
    const program = join(folder, 'gitolite');
    if (await mayUse(program, constants.X_OK)) return program;
  }
  throw new SoftquotaError(
    'usage',
    `no program gitolite is in PATH or in ${home}/bin, where ${name} would have it`,
  );
}
