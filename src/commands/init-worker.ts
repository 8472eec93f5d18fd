/** The worker, as `softquota init --worker` sets it up: as whom it runs, and what systemd is told. */

import { existsSync, lstatSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { groupName, type Survey, systemAccounts } from '../doctor/index.ts';
import { messageOf, SoftquotaError } from '../errors.ts';
import { shellQuoted } from '../text/index.ts';
import { systemFile } from './new-config.ts';

export interface NewWorker {
  /** The name of the user whose repositories they are. */
  readonly user: string;
  /**
   * The group of that user, which has to reach the trusted socket; null: the daemon runs as the same user.
   */
  readonly group: string | null;
  /** Tells whether systemd has the worker's unit. */
  readonly isUnit: boolean;
  /** Drop-ins of systemd that are to be written; none where it has no unit. */
  readonly units: readonly { readonly path: string; readonly text: string }[];
}

const unitFolders = ['/etc/systemd/system', '/usr/lib/systemd/system', '/lib/systemd/system'];
const dropIns = '/etc/systemd/system';
const written = '# Written by softquota init --worker.';
/** The user of the unit as it is shipped. */
const usualUser = 'git';

/**
 * The worker for these repositories. Throws `usage` where they belong to root or to nobody known, or where
 * another user than theirs runs this and is not root.
 */
export function workerFor(file: string, { root, uid }: Pick<Survey, 'root' | 'uid'>): NewWorker {
  const account = systemAccounts().users.find(one => one.uid === uid);
  if (uid === 0 || account === undefined) {
    throw new SoftquotaError(
      'usage',
      `--worker: the repositories in ${root} belong to ${account?.name ?? `uid ${uid}, which no account has`}; the worker runs as the ` +
        'user that git runs as, and never as root: give the repositories to that user, or leave --worker out',
    );
  }
  const { name: user, gid } = account;
  const runsAs = process.geteuid?.() ?? -1;
  if (runsAs !== 0 && runsAs !== uid) {
    throw new SoftquotaError('usage', `--worker: run this as root, or as ${user}, who owns the repositories`);
  }
  const isUnit =
    runsAs === 0 &&
    file === systemFile &&
    unitFolders.some(folder => existsSync(`${folder}/softquota-worker.service`));
  const group = groupName(gid);
  const socket = `[Socket]\nSocketGroup=${group}\nSocketMode=0660\n`;
  const service = `[Service]\nUser=${user}\n`;
  return {
    user,
    group: runsAs === 0 ? group : null,
    isUnit,
    units: isUnit
      ? [
          { path: `${dropIns}/softquota-trusted.socket.d/worker.conf`, text: `${written}\n${socket}` },
          ...(user === usualUser
            ? []
            : [{ path: `${dropIns}/softquota-worker.service.d/user.conf`, text: `${written}\n${service}` }]),
        ]
      : [],
  };
}

/** Writes what systemd is told; a file that is there already stays as it is. */
export function writeUnits({ units }: Pick<NewWorker, 'units'>): void {
  for (const { path, text } of units) {
    try {
      mkdirSync(dirname(path), { recursive: true, mode: 0o755 });
      if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) continue;
      writeFileSync(path, text, { flag: 'wx', mode: 0o644 });
    } catch (error) {
      throw new SoftquotaError('input_output', `${path} cannot be created: ${messageOf(error)}`, {
        cause: error,
      });
    }
  }
}

/** The command that runs it; systemd reads new settings when a unit is enabled. */
export function startWorker({ user, isUnit }: Pick<NewWorker, 'user' | 'isUnit'>, config: string): string {
  if (isUnit) return 'systemctl enable --now softquota-worker';
  const command = `softquota worker${config}`;
  return process.geteuid?.() === 0 ? `runuser -u ${shellQuoted(user)} -- ${command}` : command;
}
