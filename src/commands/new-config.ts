/** The files that `softquota init` makes: configuration, directories of its data, and systemd's drop-ins. */

import { chmodSync, chownSync, existsSync, linkSync, lstatSync, mkdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { groupName, type SystemAccount, systemAccounts } from '../accounts.ts';
import { readBounded } from '../bounded/index.ts';
import { type Config, formatFaults, loadConfig, longestSocketPath } from '../config/index.ts';
import type { Survey } from '../doctor/index.ts';
import { withDraft } from '../draft.ts';
import { SoftquotaError, systemCode } from '../errors.ts';
import { unitFolders } from '../supervised.ts';
import { fileFault, writeWhole } from './files.ts';
import { whereIs } from './settings.ts';
import { tellNote } from './streams.ts';

/** Paths of the daemon's data, as written in `[server]`. */
export interface NewPlaces {
  readonly dataPath: string;
  /** The directory of the sockets; null: `dataPath`. */
  readonly sockets: string | null;
  /** A group's name or number; null: the daemon's own. */
  readonly socketGroup: string | null;
  /** The group of the worker, which reports on the trusted socket; null: the daemon's own. */
  readonly trustedGroup: string | null;
  /** Directories to make if they are missing: absolute paths, and modes. */
  readonly directories: readonly { readonly path: string; readonly mode: number }[];
  /** The user who will own the data; null: the user who runs this. */
  readonly account: Pick<SystemAccount, 'uid' | 'gid'> | null;
}

/** The configuration of the service, whose data is in /var/lib and /run. */
export const systemFile = '/etc/softquota/app.ini';

/**
 * Chooses the paths of a configuration's data: in /var/lib and /run if root writes the service's file, else
 * beside the file. `gid`: the group that needs access to the gate.
 */
export function placesFor(file: string, gid: number, trustedGroup: string | null): NewPlaces {
  const uid = process.getuid?.() ?? -1;
  const mayGive = uid === 0 || (process.getgroups?.() ?? []).includes(gid);
  const isForeign = gid !== 0 && gid !== process.getgid?.() && mayGive;
  const socketGroup = isForeign ? groupName(gid) : null;
  const common = { socketGroup, trustedGroup };
  if (uid === 0 && file === systemFile) {
    const [dataPath, sockets] = ['/var/lib/softquota', '/run/softquota'];
    const service = systemAccounts().users.find(({ name }) => name === 'softquota') ?? null;
    const directories = [
      { path: dataPath, mode: 0o700 },
      { path: sockets, mode: 0o755 },
    ];
    const account = ownerOf(dataPath) ?? service;
    // The socket's unit decides who may use the gate.
    const byUnit = hasUnit('softquota.socket') ? { socketGroup: null } : {};
    return { ...common, ...byUnit, dataPath, sockets, directories, account };
  }
  const data = join(dirname(file), 'data');
  const longest = join(data, 'trusted.sock');
  if (Buffer.byteLength(longest) > longestSocketPath) {
    throw new SoftquotaError(
      'usage',
      `the sockets next to ${file} would have paths such as ${longest}, longer than the system's limit of ${longestSocketPath} bytes; ` +
        'choose a shorter path with --config',
    );
  }
  // Users of the gate may pass through the directory, but not list it.
  const directories = [{ path: data, mode: socketGroup === null ? 0o700 : 0o711 }];
  const account = uid === 0 ? ownerOf(data) : null;
  return { ...common, dataPath: './data', sockets: null, directories, account };
}

/** The owner of a directory; null if it does not exist, or is root's. */
function ownerOf(directory: string): NewPlaces['account'] {
  const about = statSync(directory, { throwIfNoEntry: false });
  return about === undefined || about.uid === 0 ? null : { uid: about.uid, gid: about.gid };
}

/** Makes missing directories: those of the data, and the one of the file. */
export function makeDirectories(file: string, { directories, account }: NewPlaces): void {
  for (const { path, mode } of [{ path: dirname(file), mode: 0o755 }, ...directories]) {
    if (existsSync(path)) continue;
    creating(path, () => {
      mkdirSync(path);
      chmodSync(path, mode);
      if (account !== null && path !== dirname(file)) chownSync(path, account.uid, account.gid);
    });
  }
}

/** Makes a file or a directory. Throws `input_output` or `not_permitted`, which names it. */
function creating<T>(path: string, make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (error instanceof SoftquotaError || systemCode(error) === null) throw error;
    throw fileFault(`${path} cannot be created`, error);
  }
}

/** Returns true if the name exists, even as a broken symbolic link. */
function isTaken(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** Throws `conflict` if the name exists. */
export function refuseExisting(file: string): void {
  if (!creating(file, () => isTaken(file))) return;
  const message = `${file} exists and is not changed; choose another file with --config, or move it away`;
  throw new SoftquotaError('conflict', message);
}

/** Loads the text as if it were in this file, which is not made. Throws `configuration`. */
export function loadDraft(file: string, text: string): Config {
  return drafted(file, text, draft => {
    const loaded = loadConfig(whereIs({ config: draft }));
    if (loaded.ok) return { ...loaded.config, file };
    throw new SoftquotaError('configuration', formatFaults(loaded.faults).replaceAll(draft, file));
  });
}

/** Writes the file completely or not at all, readable by all. Throws `conflict` if it exists. */
export function writeNew(file: string, text: string): void {
  drafted(file, text, draft => {
    try {
      chmodSync(draft, 0o644);
      linkSync(draft, file);
    } catch (error) {
      refuseExisting(file);
      throw error;
    }
  });
}

function drafted<T>(file: string, text: string, use: (draft: string) => T): T {
  return creating(file, () => withDraft(file, text, 0o644, use));
}

export interface NewWorker {
  /** The name of the user who owns the repositories. */
  readonly user: string;
  /** The group of that user, which has to reach the trusted socket; null: the daemon runs as that user. */
  readonly group: string | null;
  /** Drop-ins to write for systemd; none if it has no unit of the worker. */
  readonly units: readonly DropIn[];
  /** Drop-ins that stay as they are, because somebody else has written them. */
  readonly kept: readonly DropIn[];
}

interface DropIn {
  readonly path: string;
  readonly text: string;
}

const dropIns = '/etc/systemd/system';
const written = '# Written by softquota init --worker.';
/** The user in the shipped unit. */
const usualUser = 'git';

/**
 * Chooses the user and the drop-ins of the worker. Throws `usage` if the repositories belong to root or to an
 * unknown user, or if neither root nor their owner runs this.
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
  const group = groupName(gid);
  const [units, kept]: [DropIn[], DropIn[]] = [[], []];
  const addUnit = (name: string, text: string) => {
    const path = `${dropIns}/${name}`;
    (mayReplace(path) ? units : kept).push({ path, text });
  };
  if (runsAs === 0 && file === systemFile && hasUnit('softquota-worker.service')) {
    addUnit('softquota-trusted.socket.d/worker.conf', `[Socket]\nSocketGroup=${group}\nSocketMode=0660\n`);
    const ofUser = 'softquota-worker.service.d/user.conf';
    if (user !== usualUser || isTaken(`${dropIns}/${ofUser}`)) addUnit(ofUser, `[Service]\nUser=${user}\n`);
  }
  return { user, group: runsAs === 0 ? group : null, units, kept };
}

function hasUnit(name: string): boolean {
  return unitFolders.some(folder => existsSync(`${folder}/${name}`));
}

/** Returns true if there is no file, or one that an earlier `init` has written. */
function mayReplace(path: string): boolean {
  if (!isTaken(path)) return true;
  const found = readBounded(path);
  return found.kind === 'file' && found.bytes.toString().startsWith(written);
}

/** Writes the drop-ins for systemd, and names those that stay as they are. */
export function writeUnits({ units, kept }: NewWorker): void {
  for (const { path, text } of units) {
    creating(dirname(path), () => mkdirSync(dirname(path), { recursive: true, mode: 0o755 }));
    writeWhole(path, `${written}\n${text}`, 0o644);
  }
  for (const { path, text } of kept)
    tellNote(`${path} is kept: the worker needs there ${text.trim().split('\n').join(' ')}`);
}
