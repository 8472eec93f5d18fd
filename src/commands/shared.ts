/** Asking a daemon for what there is only where hosts share a quota. */

import { SoftquotaError } from '../errors.ts';
import type { ApiCall, DaemonClient } from './client.ts';

/** As `Client.get`; a daemon that has its quota for itself has no such address. */
export async function getShared(client: DaemonClient, call: ApiCall): Promise<unknown> {
  try {
    return await client.get(call);
  } catch (error) {
    if (!(error instanceof SoftquotaError && error.code === 'not_found')) throw error;
    throw new SoftquotaError(
      'not_found',
      'this daemon has its quota for itself ([store] ADAPTER = sqlite); docs/redis.md tells how hosts share one',
    );
  }
}
