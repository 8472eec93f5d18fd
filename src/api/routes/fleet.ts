/**
 * `/hosts` and `/store`: the hosts that share this quota, and what they share. There only where there are
 * such.
 */

import { z } from 'zod';
import { bringHome } from '../../backup/index.ts';
import { SoftquotaError } from '../../errors.ts';
import type { HostRecord } from '../../store/index.ts';
import { printable } from '../../text/index.ts';
import {
  copiedTo,
  copyOrder,
  type FleetHost,
  fleetHost,
  mark,
  repairOrder,
  sharedStore,
} from '../../wire/index.ts';
import { administrators } from '../access.ts';
import { type Route, route } from '../route.ts';
import type { ApiServices } from '../services.ts';

export function fleetRoutes({ fleet, ledger, host: ownHost, now }: ApiServices): readonly Route[] {
  if (fleet === null) return [];
  return [
    route({
      id: 'listHosts',
      method: 'get',
      path: '/admin/quota/hosts',
      tag: 'operation',
      summary: 'The hosts that share this quota',
      access: administrators.read,
      faults: [503],
      answer: { status: 200, description: 'Hosts, by id', schema: z.array(fleetHost) },
      handle: async () => {
        const stored = await ledger.shares.storedByHost();
        const [hosts, walks] = await Promise.all([fleet.hosts(), fleet.walkers.byHost()]);
        return hosts
          .toSorted((a, b) => (a.host < b.host ? -1 : 1))
          .map(host => fleetHostShown(host, stored.get(host.host), walks.get(host.host), now()));
      },
    }),
    route({
      id: 'forgetHost',
      method: 'delete',
      path: '/admin/quota/hosts/{host}',
      tag: 'operation',
      summary: 'Have a host that is gone, and all that it said of usage, count no more',
      access: administrators.write,
      params: z.object({ host: mark }),
      faults: [404, 409, 503],
      answer: { status: 204, description: 'Forgotten' },
      handle: async ({ params: { host } }) => {
        if (host === ownHost) {
          throw new SoftquotaError('conflict', `${printable(host)} is the host that you ask, and lives`);
        }
        await fleet.forgetHost(host);
      },
    }),
    route({
      id: 'getSharedStore',
      method: 'get',
      path: '/admin/quota/store',
      tag: 'operation',
      summary: 'How it stands with the store that hosts share',
      access: administrators.read,
      answer: { status: 200, description: 'Its state', schema: sharedStore },
      handle: () => {
        const { away, divergence } = fleet.state;
        return {
          away_since: away === null ? null : new Date(away.since).toISOString(),
          reason: away?.reason ?? null,
          divergence: divergence === null ? null : { why: divergence.why, message: divergence.message },
        };
      },
    }),
    route({
      id: 'bringStoreHome',
      method: 'post',
      path: '/admin/quota/store/copy',
      tag: 'operation',
      summary: "Copy what only the shared store holds into this host's own, so that it can go on alone",
      access: administrators.write,
      body: copyOrder,
      faults: [409, 503],
      answer: { status: 200, description: 'What is there now', schema: copiedTo },
      handle: ({ body: { verify = false } }) => bringHome(ledger, { verify }),
    }),
    route({
      id: 'repairStore',
      method: 'post',
      path: '/admin/quota/store/repair',
      tag: 'operation',
      summary: 'Decide which policy is the right one, on all hosts',
      access: administrators.write,
      body: repairOrder,
      faults: [409, 503],
      answer: { status: 204, description: 'Decided, and in force here; elsewhere within two seconds' },
      handle: ({ body: { policy } }) => fleet.repair(policy),
    }),
  ];
}

function fleetHostShown(
  { host, isAlive, seenAt, version }: HostRecord,
  stored: { readonly owners: number; readonly bytes: number } | undefined,
  walks: readonly string[] = [],
  now: number,
): FleetHost {
  return {
    id: host,
    alive: isAlive,
    seen_at: new Date(seenAt).toISOString(),
    silent_seconds: isAlive ? 0 : Math.max(0, Math.floor((now - seenAt) / 1000)),
    version,
    walks: [...walks],
    owners: stored?.owners ?? 0,
    bytes: stored?.bytes ?? 0,
  };
}
