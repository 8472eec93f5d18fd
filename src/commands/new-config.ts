/** A configuration that did not exist before: where its data go, and how it is written. */

import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  fchmodSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type Config, formatFaults, loadConfig } from '../config/index.ts';
import { type ConfigPlaces, groupName, type SystemAccount, systemAccounts } from '../doctor/index.ts';
import { messageOf, SoftquotaError, systemCode } from '../errors.ts';
import { longestPathBytes } from '../service/index.ts';
import { whereIs } from './settings.ts';

interface NewPlaces extends ConfigPlaces {
  /** To be made, with their modes, where they are not there; absolute. */
  readonly directories: readonly { readonly path: string; readonly mode: number }[];
  /** The user who is to have the data; null: the one who runs this. */
  readonly account: Pick<SystemAccount, 'uid' | 'gid'> | null;
}

/** The configuration of the service, whose data are in the system's places. */
export const systemFile = '/etc/softquota/app.ini';

/**
 * Paths of a configuration's data: root's of /etc/softquota in the system's places, all others beside the
 * file. `gid`: the group that has to reach the gate.
 */
export function placesFor(file: string, gid: number, trustedGroup: string | null): NewPlaces {
  const uid = process.getuid?.() ?? -1;
  const mayGive = uid === 0 || (process.getgroups?.() ?? []).includes(gid);
  const isForeign = gid !== 0 && gid !== process.getgid?.() && mayGive;
  const socketGroup = isForeign ? groupName(gid) : null;
  if (uid === 0 && file === systemFile) {
    return {
      dataPath: '/var/lib/softquota',
      socket: '/run/softquota/gate.sock',
      trustedSocket: '/run/softquota/trusted.sock',
      adminSocket: '/run/softquota/admin.sock',
      socketGroup,
      trustedGroup,
      directories: [
        { path: '/var/lib/softquota', mode: 0o700 },
        { path: '/run/softquota', mode: 0o755 },
      ],
      account:
        ownerOf('/var/lib/softquota') ??
        systemAccounts().users.find(({ name }) => name === 'softquota') ??
        null,
    };
  }
  const data = join(dirname(file), 'data');
  const longest = join(data, 'trusted.sock');
  if (Buffer.byteLength(longest) > longestPathBytes) {
    throw new SoftquotaError(
      'usage',
      `the sockets next to ${file} would have paths such as ${longest}, longer than the system's limit of ${longestPathBytes} bytes; ` +
        'choose a shorter path with --config',
    );
  }
  return {
    dataPath: './data',
    socket: './data/gate.sock',
    trustedSocket: null,
    adminSocket: null,
    socketGroup,
    trustedGroup,
    // Users of the gate have to get through to it, and no further.
    directories: [{ path: data, mode: socketGroup === null ? 0o700 : 0o711 }],
    account: uid === 0 ? ownerOf(data) : null,
  };
}

/** Owner of a directory, if it is there and is somebody else's than root's. */
function ownerOf(directory: string): NewPlaces['account'] {
  const about = statSync(directory, { throwIfNoEntry: false });
  return about === undefined || about.uid === 0 ? null : { uid: about.uid, gid: about.gid };
}

/** Makes what is missing: the directories of the data, and the one that the file is to be in. */
export function makeDirectories(file: string, { directories, account }: NewPlaces): void {
  for (const { path, mode } of [{ path: dirname(file), mode: 0o755 }, ...directories]) {
    if (existsSync(path)) continue;
    try {
      mkdirSync(path);
      chmodSync(path, mode);
      if (account !== null && path !== dirname(file)) chownSync(path, account.uid, account.gid);
    } catch (error) {
      throw fileFault(path, error);
    }
  }
}

/** Throws `conflict` where something has the name, if only a link that leads nowhere. */
export function refuseExisting(file: string): void {
  try {
    if (lstatSync(file, { throwIfNoEntry: false }) === undefined) return;
  } catch (error) {
    throw fileFault(file, error);
  }
  throw new SoftquotaError(
    'conflict',
    `${file} exists and is not changed; choose another file with --config, or move it away`,
  );
}

/** The configuration that this text would be as this file. The file itself is not made. */
export function loadDraft(file: string, text: string): Config {
  const draft = writeDraft(file, text);
  try {
    const loaded = loadConfig(whereIs({ config: draft }));
    if (loaded.ok) return loaded.config;
    throw new SoftquotaError('configuration', formatFaults(loaded.faults).replaceAll(draft, file));
  } finally {
    rmSync(draft, { force: true });
  }
}

/** The file appears whole or not at all, readable by all, and never in the place of another. */
export function writeNew(file: string, text: string): void {
  const draft = writeDraft(file, text);
  try {
    linkSync(draft, file);
  } catch (error) {
    refuseExisting(file);
    throw fileFault(file, error);
  } finally {
    rmSync(draft, { force: true });
  }
}

/** In the same folder, so that relative paths mean the same. */
function writeDraft(file: string, text: string): string {
  const draft = join(dirname(file), `.${basename(file)}.${process.pid}`);
  try {
    const descriptor = openSync(draft, 'wx', 0o644);
    try {
      // Unlike writeSync, which on a disk that fills up writes a part and says nothing.
      writeFileSync(descriptor, text);
      fsyncSync(descriptor);
      fchmodSync(descriptor, 0o644);
    } catch (error) {
      rmSync(draft, { force: true });
      throw error;
    } finally {
      closeSync(descriptor);
    }
    return draft;
  } catch (error) {
    throw fileFault(file, error);
  }
}

function fileFault(file: string, cause: unknown): SoftquotaError {
  const why = messageOf(cause);
  const denied = ['EACCES', 'EPERM', 'EROFS'].includes(systemCode(cause) ?? '');
  return new SoftquotaError(denied ? 'not_permitted' : 'input_output', `${file} cannot be created: ${why}`, {
    cause,
  });
}
