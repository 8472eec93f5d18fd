/** Makes a server listen at an address, or on a Unix socket, and again if the socket's file is gone. */

import { once } from 'node:events';
import { chmodSync, lstatSync, readFileSync, readlinkSync, unlinkSync } from 'node:fs';
import { connect, type ListenOptions, type Server } from 'node:net';
import { runProgram } from '../bounded/index.ts';
import { messageOf, SoftquotaError, systemCode } from '../errors.ts';
import { exposureOf } from './exposure.ts';

export interface SocketPlace {
  /** Absolute, and not too long for the system; the configuration checks that. */
  readonly path: string;
  readonly mode: number;
  /** A group's name or number; null leaves the daemon's own. */
  readonly group: string | null;
  /** Setting that a fault names: `[server] SOCKET`. */
  readonly setting: string;
  /** A listening descriptor from the service manager; its path, mode and group are the manager's. */
  readonly descriptor?: number;
  /** Called when the socket's file is gone, such as after /run was emptied; if omitted, nothing checks it. */
  readonly watch?: SocketWatch;
}

export interface SocketWatch {
  readonly everyMs: number;
  /** The socket is made anew; one of the service manager may have other rights then. */
  renewed(path: string): void;
  /** Nobody can connect any more, and the server cannot listen again. */
  lost(error: unknown): void;
}

export interface AddressPlace {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** The keys that a fault names. */
  readonly settings: { readonly host: string; readonly port: string };
}

export interface Listening {
  /** Refuses new connections. Returns false if it cannot, because the socket waits for the next daemon. */
  withdraw(): boolean;
}

/** Connections that may wait to be accepted; the system cuts it to its own limit. */
const backlog = 4096;

/** Only the daemon's own user can connect until group and mode are set. */
const umaskWhileMade = 0o177;

/**
 * Listens on a Unix socket. Resolves when mode and group are set; before that, no other user can connect.
 * Rejects with `configuration`, and then leaves nothing behind. Only for the main thread, since it sets the
 * umask.
 */
export async function listen(server: Server, place: SocketPlace): Promise<Listening> {
  const { descriptor } = place;
  const given = descriptor === undefined ? null : pathOf(descriptor);
  const isGone = given !== null && identityOf(given) === null;
  if (descriptor === undefined || isGone) {
    const own = given === null ? place : { ...place, path: given };
    await make(server, own);
    if (given !== null) place.watch?.renewed(given);
    return keep(server, own, true);
  }
  await listening(server, { fd: descriptor, backlog }, cause =>
    fault(place, `descriptor ${descriptor} of the service manager cannot be used`, cause),
  );
  if (given === null) return { withdraw: () => false };
  const { mode, gid } = lstatSync(given);
  return keep(server, { ...place, path: given, mode: mode & 0o777, group: String(gid) }, false);
}

/** Watches the socket's file. `isOwn`: this daemon made the file, not the service manager. */
function keep(server: Server, place: SocketPlace, isOwn: boolean): Listening {
  const { path, watch } = place;
  let there = identityOf(path);
  let isOurs = isOwn;
  let timer: NodeJS.Timeout | undefined;
  const look = async (after: SocketWatch) => {
    try {
      if (identityOf(path) !== there) {
        // Rejects if another daemon listens there, whose file stays.
        await makeWay(place);
        server.close();
        await make(server, place);
        there = identityOf(path);
        isOurs = true;
        after.renewed(path);
      }
      lookLater();
    } catch (error) {
      after.lost(error);
    }
  };
  const lookLater = () => {
    if (watch !== undefined) timer = setTimeout(() => void look(watch), watch.everyMs).unref();
  };
  lookLater();
  return {
    withdraw: () => {
      clearTimeout(timer);
      return isOurs && there !== null && there === identityOf(path) && isRemoved(path);
    },
  };
}

/** The path of a listening socket's file, which may be gone; null if the system does not say. */
function pathOf(descriptor: number): string | null {
  try {
    const inode = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${descriptor}`))?.[1];
    const lines = readFileSync('/proc/self/net/unix', 'utf8').split('\n');
    // Num RefCount Protocol Flags Type St Inode Path
    const line = lines.find(each => each.trim().split(/ +/)[6] === inode);
    return /\s(\/.*)$/.exec(line ?? '')?.[1] ?? null;
  } catch {
    return null;
  }
}

async function make(server: Server, place: SocketPlace): Promise<void> {
  const exposure = exposureOf(place.path);
  if (exposure !== null) {
    throw fault(
      place,
      `${exposure.words}, and so can replace the socket; expected a directory that only the daemon's user and root may write, such as /run/softquota`,
    );
  }
  await makeWay(place);
  // Node makes the socket before `listen` returns, so nothing else is made under this umask.
  const umask = process.umask(umaskWhileMade);
  const listens = listening(server, { path: place.path, backlog }, cause =>
    fault(place, 'nothing can listen there', cause),
  );
  process.umask(umask);
  await listens;
  try {
    if (place.group !== null) await changeGroup(place, place.group);
    chmodSync(place.path, place.mode);
  } catch (error) {
    await new Promise(resolve => server.close(resolve));
    throw error instanceof SoftquotaError ? error : fault(place, 'its mode cannot be set', error);
  }
}

/** Resolves once it listens at an address; rejects with `configuration`. */
export async function listenAt(server: Server, { host, port, settings }: AddressPlace): Promise<Listening> {
  await listening(server, { host, port }, cause => {
    const where = `${settings.host} = ${host}, ${settings.port} = ${port}`;
    const message = `${where}: nothing can listen there: ${messageOf(cause)}`;
    return new SoftquotaError('configuration', message, { cause });
  });
  return { withdraw: () => false };
}

/** Device and inode of a file; null if there is none. */
function identityOf(path: string): string | null {
  const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return stats === undefined ? null : `${stats.dev} ${stats.ino}`;
}

function isRemoved(path: string): boolean {
  try {
    unlinkSync(path);
    return true;
  } catch {
    // The directory may not be written any more. The system refuses connections once nobody listens.
    return false;
  }
}

async function listening(
  server: Server,
  where: ListenOptions & { readonly fd?: number },
  faultOf: (cause: unknown) => SoftquotaError,
): Promise<void> {
  server.listen(where);
  await once(server, 'listening').catch((cause: unknown) => {
    throw faultOf(cause);
  });
}

/** Removes the socket file of a dead daemon. Rejects if the path is in use, or is not a socket. */
async function makeWay(place: SocketPlace): Promise<void> {
  const there = lstatSync(place.path, { throwIfNoEntry: false });
  if (there === undefined) return;
  if (!there.isSocket()) throw fault(place, 'the path exists and is not a socket; it was not changed');
  if (await isAnswered(place.path))
    throw fault(place, 'another process uses it; is a daemon already running?');
  try {
    unlinkSync(place.path);
  } catch (error) {
    if (systemCode(error) !== 'ENOENT')
      throw fault(place, 'the socket of an earlier daemon cannot be removed', error);
  }
}

function isAnswered(path: string): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    // EAGAIN: a living daemon has a full queue. EACCES: nobody knows if a daemon is there.
    socket.once('error', error => resolve(!['ECONNREFUSED', 'ENOENT'].includes(systemCode(error) ?? '')));
  });
}

/** Time limit for chgrp, since a directory service may be slow. */
const groupMs = 10_000;

/** Uses chgrp(1), which knows every source of groups that the system has. */
async function changeGroup(place: SocketPlace, group: string): Promise<void> {
  const { status, complaint } = await runProgram('chgrp', ['--', group, place.path], {
    timeoutMs: groupMs,
  }).catch((error: unknown) => {
    throw fault(place, 'its group cannot be set', error);
  });
  if (status === 0) return;
  const mend = complaint.includes('not permitted')
    ? ` (the user who runs the daemon has to be in the group: usermod --append --groups ${group} USER)`
    : '';
  throw fault(place, `its group cannot be set: ${complaint}${mend}`);
}

function fault(place: SocketPlace, what: string, cause?: unknown): SoftquotaError {
  const why = cause instanceof Error ? `: ${cause.message.trim()}` : '';
  return new SoftquotaError('configuration', `${place.setting} = ${place.path}: ${what}${why}`, { cause });
}

/** The first socket that systemd hands over: see sd_listen_fds(3). */
const firstDescriptor = 3;

const socketNames = ['gate', 'trusted', 'admin'] as const;

export type SocketName = (typeof socketNames)[number];

/**
 * Reads LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES: the descriptors by name; none if nothing was handed to
 * this process. A single socket with another name (systemd's default is the unit's) is the gate. Removes the
 * variables from the environment, so that no child takes them for its own. Throws `configuration`.
 */
export function inheritedSockets(env: NodeJS.ProcessEnv, pid: number): ReadonlyMap<SocketName, number> {
  const { LISTEN_PID: forPid, LISTEN_FDS: count, LISTEN_FDNAMES: names } = env;
  delete env.LISTEN_PID;
  delete env.LISTEN_FDS;
  delete env.LISTEN_FDNAMES;
  if (count === undefined || forPid !== String(pid)) return new Map();
  const given = Number(count);
  if (!Number.isInteger(given) || given < 0) {
    const message = `LISTEN_FDS is "${count}", where a number of sockets is expected`;
    throw new SoftquotaError('configuration', message);
  }
  const named = (names ?? '').split(':');
  const sockets = new Map<SocketName, number>();
  for (let index = 0; index < given; index++) {
    const text = named[index] ?? '';
    const name = socketNames.find(each => each === text) ?? (given === 1 ? 'gate' : null);
    if (name === null || sockets.has(name)) {
      const what = name === null ? `named "${text}"` : `a second one named "${text}"`;
      const message = `socket ${index + 1} of ${given} handed over by the service manager is ${what}: set FileDescriptorName= to gate, trusted or admin, each once`;
      throw new SoftquotaError('configuration', message);
    }
    sockets.set(name, firstDescriptor + index);
  }
  return sockets;
}
