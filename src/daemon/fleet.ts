/** The daemon's part in a quota that several hosts share, where `[store] ADAPTER` says so. */

import type { Config } from '../config/index.ts';
import { Fleet } from '../fleet/index.ts';
import type { Ledger } from '../ledger/index.ts';
import type { Logger } from '../service/index.ts';
import { openRedisStore } from '../store/index.ts';
import { version } from '../version.ts';
import { hostTokenIn } from './host-id.ts';

interface FleetParts {
  readonly config: Config;
  readonly host: string;
  readonly ledger: Ledger;
  readonly log: Logger;
}

/** Null: the quota is this host's own. Rejects with `configuration` or `store_refused`. */
export async function joinFleet({ config, host, ledger, log }: FleetParts): Promise<Fleet | null> {
  const { adapter, host: address, prefix, waitReplicas } = config.store;
  if (adapter === 'sqlite') {
    ledger.shares.standAlone();
    return null;
  }
  const token = hostTokenIn(config.server.dataPath);
  const store = await openRedisStore({ address, prefix, waitReplicas, log, writer: host });
  return Fleet.open({ ledger, store, host, token, version, log, now: Date.now });
}
