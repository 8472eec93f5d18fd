/** Scans, problems of the installation, backup, hosts that share the quota, version, and API description. */

import { z } from 'zod';
import { SoftquotaError } from '../../errors.ts';
import { walkedForOthers } from '../../fleet/index.ts';
import { byText } from '../../sorting.ts';
import { isoTime, printable } from '../../text.ts';
import { version } from '../../version.ts';
import * as wire from '../../wire/index.ts';
import { administrators } from '../asker.ts';
import { type Route, route } from '../route.ts';
import type { ApiServices } from '../services.ts';
import { scanShown } from './shapes.ts';

export function operationRoutes(services: ApiServices): readonly Route[] {
  return [...scanRoutes(services), ...installationRoutes(services)];
}

function scanRoutes({ acceptGone, scanner, documents }: ApiServices): readonly Route[] {
  return [
    route('post', 'startScan', '/admin/quota/scans', {
      summary: 'Measure now',
      body: wire.scanOrder.default({ kind: 'sweep', accept_moved: false }),
      answer: { status: 202, description: 'The scan, which runs in the background', schema: wire.scanReport },
      handle: ({ body: { kind, owners, accept_moved: acceptMoved } }) => {
        const keys = owners?.map(name => documents.owners.keyOf(name));
        // `acceptGone` applies to all owners, so an order for some of them does not call it.
        if (acceptMoved && owners === undefined) acceptGone();
        return scanShown(
          scanner.sweep({ kind, acceptMoved, ...(keys === undefined ? {} : { owners: keys }) }),
        );
      },
    }),
    route('get', 'listScans', '/admin/quota/scans', {
      summary: 'Waiting, running and recent scans',
      answer: { status: 200, description: 'Scans', schema: z.array(wire.scanReport) },
      handle: () => scanner.runs().map(scanShown),
    }),
    route('get', 'getScan', '/admin/quota/scans/{id}', {
      summary: 'One scan',
      answer: { status: 200, description: 'The scan', schema: wire.scanReport },
      handle: ({ params }) => {
        const run = scanner.runs().find(({ id }) => String(id) === params.id);
        if (run === undefined) {
          throw new SoftquotaError('not_found', 'there is no such scan, or it is too old');
        }
        return scanShown(run);
      },
    }),
  ];
}

function installationRoutes(services: ApiServices): readonly Route[] {
  const { findings, backup, fleet, ledger, host: ownHost } = services;
  const sharing = (): NonNullable<ApiServices['fleet']> => {
    if (fleet !== null) return fleet;
    throw new SoftquotaError(
      'not_found',
      'this daemon has its quota for itself ([store] ADAPTER = sqlite); docs/redis.md tells how hosts share one',
    );
  };
  return [
    route('get', 'listFindings', '/admin/quota/findings', {
      summary: 'The problems of this installation, the worst first',
      answer: { status: 200, description: 'Findings', schema: z.array(wire.finding).readonly() },
      handle: () => findings(),
    }),
    route('get', 'takeBackup', '/admin/backup', {
      summary: 'A backup of everything that cannot be measured again',
      description:
        'For `softquota restore`. It contains the hashes of tokens, so reading it needs a write scope.',
      access: administrators.write,
      answer: {
        status: 200,
        description: 'A backup',
        schema: z.looseObject({
          softquota: z.literal('backup').meta({ description: 'Marks the document.' }),
        }),
      },
      handle: async () => ({ ...(await backup()) }),
    }),
    route('get', 'listHosts', '/admin/quota/hosts', {
      summary: 'The hosts that share this quota',
      faults: [404, 503],
      answer: { status: 200, description: 'Hosts, by id', schema: z.array(wire.fleetHost) },
      handle: async () => {
        const fleet = sharing();
        const stored = await ledger.shares.storedByHost();
        const hosts = await fleet.hosts();
        return hosts
          .toSorted((a, b) => byText(a.host, b.host))
          .map(each => ({
            id: each.host,
            alive: each.isAlive,
            seen_at: isoTime(each.seenAt),
            silent_seconds: each.isAlive ? 0 : Math.max(0, Math.floor((Date.now() - each.seenAt) / 1000)),
            version: each.version,
            walks: walkedForOthers(each, hosts),
            owners: stored.get(each.host)?.owners ?? 0,
            bytes: stored.get(each.host)?.bytes ?? 0,
          }));
      },
    }),
    route('delete', 'forgetHost', '/admin/quota/hosts/{host}', {
      summary: 'Remove a host that no longer exists, with its usage',
      faults: [404, 409, 503],
      answer: { status: 204, description: 'Forgotten' },
      handle: async ({ params: { host } }) => {
        const fleet = sharing();
        if (host === ownHost) {
          const message = `${printable(host)} is the host that you ask, and it is running`;
          throw new SoftquotaError('conflict', message);
        }
        await fleet.forgetHost(host);
      },
    }),
    route('get', 'getSharedStore', '/admin/quota/store', {
      summary: 'The state of the shared store',
      faults: [404],
      answer: { status: 200, description: 'Its state', schema: wire.sharedStore },
      handle: () => {
        const { away, divergence } = sharing().state;
        return {
          away_since: isoTime(away?.since ?? null),
          reason: away?.reason ?? null,
          divergence: divergence === null ? null : { why: divergence.why, message: divergence.message },
        };
      },
    }),
    route('post', 'repairStore', '/admin/quota/store/repair', {
      summary: 'Choose between two diverged policies, for all hosts',
      body: wire.repairOrder,
      faults: [404, 409, 503],
      answer: {
        status: 204,
        description: 'The policy is in force on this host, and within two seconds on all others',
      },
      handle: ({ body: { policy } }) => sharing().repair(policy),
    }),
  ];
}

export const aboutRoutes = (): readonly Route[] => [
  route('get', 'getVersion', '/version', {
    summary: 'The version of softquota',
    access: 'anybody',
    answer: { status: 200, description: 'The version', schema: wire.versionReport },
    handle: () => ({ version }),
  }),
  route('get', 'getDescription', '/openapi.json', {
    summary: 'This description',
    access: 'anybody',
    answer: {
      status: 200,
      description: 'An OpenAPI 3.1 document',
      schema: z.looseObject({ openapi: z.string().meta({ description: 'The version of OpenAPI.' }) }),
    },
    handle: async () => (await import('../../../docs/openapi.json', { with: { type: 'json' } })).default,
  }),
];
