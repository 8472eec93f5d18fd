/**
 * Measures for the first time: runs a daemon on sockets that nobody else knows, with the store of the later
 * daemon, which then knows the figures from its start.
 */

import {
  closeSync,
  constants,
  fchownSync,
  lchownSync,
  lstatSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Config } from '../config/index.ts';
import { SoftquotaError } from '../errors.ts';
import type { ObservedForge } from '../health/index.ts';
import type { Overview, OwnerRow, ScanReport } from '../wire/index.ts';
import { type DaemonClient, localAdminClient, mostRows } from './client.ts';
import { followScan } from './scan.ts';

export interface Measured {
  readonly scan: ScanReport;
  readonly owners: number;
  /** Bytes of all owners. */
  readonly total: number;
  /** At most as many owners as one answer has, the largest first. */
  readonly largest: readonly OwnerRow[];
  /** The first reading of the forge's database; null if the configuration names none. */
  readonly forge: ObservedForge | null;
}

/**
 * Measures everything once, and makes `account` the owner of the data. Rejects with `configuration`,
 * `store_refused`, or `not_ready` if the scan fails.
 */
export async function measureFirst(
  config: Config,
  account: { readonly uid: number; readonly gid: number } | null,
): Promise<Measured> {
  const { Daemon } = await import('../daemon/index.ts');
  const { createLogger } = await import('../service/index.ts');
  const folder = mkdtempSync(join(tmpdir(), 'softquota-'));
  const { log, flush } = createLogger({ level: 'error', format: 'pretty' });
  const own = onOwnSockets(config, folder);
  try {
    // The environment may hold sockets of the service manager, which are not meant for this daemon.
    const daemon = await Daemon.start({ config: own, env: {}, log });
    try {
      return await measured(localAdminClient(own), () => daemon.firstForgeReading());
    } finally {
      await daemon.stop();
    }
  } finally {
    await flush();
    rmSync(folder, { recursive: true, force: true });
    if (account !== null) give(config.server.dataPath, account);
  }
}

function onOwnSockets(config: Config, folder: string): Config {
  return {
    ...config,
    server: {
      ...config.server,
      socket: join(folder, 'gate.sock'),
      socketGroup: null,
      trustedSocket: join(folder, 'trusted.sock'),
      trustedGroup: null,
      adminSocket: join(folder, 'admin.sock'),
      httpPort: 0,
    },
  };
}

/** Waits for the scan with which each daemon starts. */
async function measured(
  client: DaemonClient,
  forgeRead: () => Promise<ObservedForge | null>,
): Promise<Measured> {
  const scans = await client.get<readonly ScanReport[]>({ path: '/admin/quota/scans' });
  const first = scans.at(-1);
  if (first === undefined) throw new SoftquotaError('internal', 'the daemon measures nothing');
  const scan = await followScan(client, first.id);
  if (scan.state !== 'done') {
    const message = `the measurement did not finish: the scan is ${scan.state}: ${scan.error ?? ''}`;
    throw new SoftquotaError('not_ready', message);
  }
  const forge = await forgeRead();
  const { headers, json } = await client.ask<readonly OwnerRow[]>({
    path: `/admin/quota/usage?limit=${mostRows}`,
  });
  const { total } = await client.get<Overview>({ path: '/admin/quota/overview' });
  return { scan, owners: Number(headers['x-total-count']), total, largest: json, forge };
}

/**
 * Makes the account the owner of a directory and everything in it, once nothing writes there any more. If the
 * account controls the directory already, it may have put links there: symbolic links are not followed, and
 * files with several names keep their owner.
 */
function give(directory: string, account: { readonly uid: number; readonly gid: number }): void {
  const handle = openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    // Paths through the open directory stay right if it is moved meanwhile.
    const opened = `/proc/self/fd/${handle}`;
    for (const name of readdirSync(opened)) {
      const path = join(opened, name);
      const about = lstatSync(path);
      if (about.isDirectory()) give(path, account);
      else if (about.isFile() && about.nlink === 1) lchownSync(path, account.uid, account.gid);
    }
    fchownSync(handle, account.uid, account.gid);
  } finally {
    closeSync(handle);
  }
}
