/**
 * Sockets handed over by systemd: LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES of sd_listen_fds(3).
 *
 * `FileDescriptorName=` in the socket unit says which is which: `gate`, `trusted` or `admin`. A single
 * socket with another name (systemd's default is the unit's) is the gate.
 */

import { SoftquotaError } from '../errors.ts';

const firstDescriptor = 3;

export type SocketName = 'gate' | 'trusted' | 'admin';

/**
 * The descriptors by name; none where nothing was handed to this process. The variables are taken
 * out of the environment, so that no child believes they are meant for it. Throws `configuration`.
 */
export function inheritedSockets(env: NodeJS.ProcessEnv, pid: number): ReadonlyMap<SocketName, number> {
  const { LISTEN_PID: forPid, LISTEN_FDS: count, LISTEN_FDNAMES: names } = env;
  delete env.LISTEN_PID;
  delete env.LISTEN_FDS;
  delete env.LISTEN_FDNAMES;
  if (count === undefined || forPid !== String(pid)) return new Map();
  const given = Number(count);
  if (!Number.isInteger(given) || given < 0) {
    throw new SoftquotaError(
      'configuration',
      `LISTEN_FDS is "${count}", where a number of sockets is expected`,
    );
  }
  const named = (names ?? '').split(':');
  const sockets = new Map<SocketName, number>();
  for (let index = 0; index < given; index++) {
    const text = named[index] ?? '';
    const name = isSocketName(text) ? text : given === 1 ? 'gate' : null;
    if (name === null || sockets.has(name)) {
      const what = name === null ? `named "${text}"` : `a second one named "${text}"`;
      throw new SoftquotaError(
        'configuration',
        `socket ${index + 1} of ${given} handed over by the service manager is ${what}: set FileDescriptorName= to gate, trusted or admin, each once`,
      );
    }
    sockets.set(name, firstDescriptor + index);
  }
  return sockets;
}

function isSocketName(text: string): text is SocketName {
  return text === 'gate' || text === 'trusted' || text === 'admin';
}
