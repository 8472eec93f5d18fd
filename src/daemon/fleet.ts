/** The daemon's part in a quota that several hosts share, where `[store] ADAPTER` says so. */

import type { Config } from '../config/index.ts';
import { Fleet, type Mounted } from '../fleet/index.ts';
import type { Ledger } from '../ledger/index.ts';
import { leavesThere } from '../measuring/index.ts';
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
  const mounted = mountedIn(config);
  return Fleet.open({ ledger, store, host, token, version, mounted, log, now: Date.now });
}

/** Returns the names in `[storage.*] SHARED`, and the kinds of data stored under each. */
export function mountedIn({ storages }: Config): Mounted {
  const sections = storages.flatMap(one =>
    one.shared === undefined ? [] : [{ ...one, shared: one.shared }],
  );
  return new Map(
    [...Map.groupBy(sections, ({ shared }) => shared)].map(([name, its]) => [
      name,
      new Set(its.flatMap(leavesThere)),
    ]),
  );
}
