/** `/hosts` and `/store`: the hosts that share this quota, and what they share; 404 where there are none. */

import { z } from 'zod';
import { SoftquotaError } from '../../errors.ts';
import { walkedForOthers } from '../../fleet/index.ts';
import type { HostRecord } from '../../store/index.ts';
import { isoTime, printable } from '../../text/index.ts';
import { type FleetHost, fleetHost, mark, repairOrder, sharedStore } from '../../wire/index.ts';
import { deleteRoute, getRoute, postRoute, type Route } from '../route.ts';
import type { ApiServices } from '../services.ts';

export function fleetRoutes({ fleet, ledger, host: ownHost, now }: ApiServices): readonly Route[] {
  const sharing = (): NonNullable<ApiServices['fleet']> => {
    if (fleet !== null) return fleet;
    throw new SoftquotaError(
      'not_found',
      'this daemon has its quota for itself ([store] ADAPTER = sqlite); docs/redis.md tells how hosts share one',
    );
  };
  return [
    getRoute({
      id: 'listHosts',
      path: '/admin/quota/hosts',
      summary: 'The hosts that share this quota',
      faults: [404, 503],
      answer: { status: 200, description: 'Hosts, by id', schema: z.array(fleetHost) },
      handle: async () => {
        const fleet = sharing();
        const stored = await ledger.shares.storedByHost();
        const hosts = await fleet.hosts();
        return hosts
          .toSorted((a, b) => (a.host < b.host ? -1 : 1))
          .map(host => fleetHostShown(host, stored.get(host.host), walkedForOthers(host, hosts), now()));
      },
    }),
    deleteRoute({
      id: 'forgetHost',
      path: '/admin/quota/hosts/{host}',
      summary: 'Remove a host that no longer exists, with its usage',
      params: z.object({ host: mark }),
      faults: [404, 409, 503],
      answer: { status: 204, description: 'Forgotten' },
      handle: async ({ params: { host } }) => {
        const fleet = sharing();
        if (host === ownHost) {
          throw new SoftquotaError(
            'conflict',
            `${printable(host)} is the host that you ask, and it is running`,
          );
        }
        await fleet.forgetHost(host);
      },
    }),
    getRoute({
      id: 'getSharedStore',
      path: '/admin/quota/store',
      summary: 'The state of the shared store',
      faults: [404],
      answer: { status: 200, description: 'Its state', schema: sharedStore },
      handle: () => {
        const { away, divergence } = sharing().state;
        return {
          away_since: isoTime(away?.since ?? null),
          reason: away?.reason ?? null,
          divergence: divergence === null ? null : { why: divergence.why, message: divergence.message },
        };
      },
    }),
    postRoute({
      id: 'repairStore',
      path: '/admin/quota/store/repair',
      summary: 'Choose between two diverged policies, for all hosts',
      body: repairOrder,
      faults: [404, 409, 503],
      answer: {
        status: 204,
        description: 'The policy is in force on this host, and within two seconds on all others',
      },
      handle: ({ body: { policy } }) => sharing().repair(policy),
    }),
  ];
}

function fleetHostShown(
  { host, isAlive, seenAt, version }: HostRecord,
  stored: { readonly owners: number; readonly bytes: number } | undefined,
  walks: string[],
  now: number,
): FleetHost {
  return {
    id: host,
    alive: isAlive,
    seen_at: isoTime(seenAt),
    silent_seconds: isAlive ? 0 : Math.max(0, Math.floor((now - seenAt) / 1000)),
    version,
    walks,
    owners: stored?.owners ?? 0,
    bytes: stored?.bytes ?? 0,
  };
}
