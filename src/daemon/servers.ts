/** The three sockets: the gate, the trusted gate, and the administrator's. */

import type { Admin, AdminServices } from '../api/index.ts';
import { backupOf } from '../backup/index.ts';
import { Gate, type GateServices } from '../gate/index.ts';
import { findings, notReady } from '../health/index.ts';
import type { Ledger } from '../ledger/index.ts';
import type { Refusals } from '../refusals/index.ts';
import { inheritedSockets, type SocketName, type SocketPlace } from '../sockets/index.ts';
import type { Logger } from '../telemetry/index.ts';
import type { Current } from './current.ts';
import type { Measuring } from './measuring.ts';
import type { Unasked } from './unasked.ts';

export interface ServersOptions {
  readonly current: Current;
  /** Says which sockets the service manager hands over. */
  readonly env: NodeJS.ProcessEnv;
  /** This machine's name. */
  readonly host: string;
  readonly ledger: Ledger;
  readonly measuring: Measuring;
  readonly refusals: Refusals;
  readonly unasked: Unasked;
  readonly log: Logger;
}

/** All of them or none; rejects with `configuration`. `close` answers what is under way. */
export async function openServers(options: ServersOptions): Promise<{ close(): Promise<void> }> {
  const { current, env } = options;
  const { server } = current.config;
  const services = gateServices(options);
  const inherited = inheritedSockets(env, process.pid);
  const place = (name: SocketName, made: SocketPlace): SocketPlace => {
    const descriptor = inherited.get(name);
    return descriptor === undefined ? made : { ...made, descriptor };
  };
  const openings: readonly (() => Promise<Gate | Admin>)[] = [
    () =>
      Gate.open(
        services,
        place('gate', {
          path: server.socket,
          mode: server.socketMode,
          group: server.socketGroup,
          setting: '[server] SOCKET',
        }),
        'anybody',
      ),
    () =>
      Gate.open(
        services,
        place('trusted', {
          path: server.trustedSocket,
          mode: server.trustedMode,
          group: server.trustedGroup,
          setting: '[server] TRUSTED_SOCKET',
        }),
        'trusted',
      ),
    async () => {
      // What it is built on takes longer to load than all else: the gate answers before.
      const { Admin } = await import('../api/index.ts');
      return Admin.open(
        adminServices(options, services.unforeseen),
        place('admin', {
          path: server.adminSocket,
          mode: 0o600,
          group: null,
          setting: '[server] ADMIN_SOCKET',
        }),
      );
    },
  ];
  const opened: (Gate | Admin)[] = [];
  const close = async () => {
    await Promise.all(opened.map(each => each.close()));
  };
  try {
    for (const open of openings) opened.push(await open());
  } catch (error) {
    await close();
    throw error;
  }
  return { close };
}

function adminServices(
  { current, host, ledger, measuring, refusals, unasked }: ServersOptions,
  unforeseen: (error: unknown) => void,
): AdminServices {
  const { server } = current.config;
  return {
    ledger,
    scanner: measuring.scanner,
    defaultGroups: () => current.config.quota.defaultGroups,
    baseUrl: () => server.rootUrl ?? `http://${server.httpAddr}:${server.httpPort}/`,
    findings: async () => {
      const { config, file, restartKeys } = current;
      return findings({
        ...measuring.observed(),
        ledger,
        storages: config.storages.length,
        defaultGroups: config.quota.defaultGroups,
        unpublished: refusals.trouble,
        unasked: unasked.tally,
        configWrittenAt: await file.writtenSince(),
        restartKeys,
        pid: process.pid,
        uid: process.getuid?.() ?? -1,
        now: Date.now(),
      });
    },
    backup: () => backupOf(ledger, host),
    unforeseen,
  };
}

function gateServices({ current, ledger, measuring, unasked, log }: ServersOptions): GateServices {
  return {
    ledger,
    locate: path => measuring.locate(path),
    measureSoon: path => measuring.measureSoon(path),
    contact: () => current.config.hooks.contact,
    refused: ({ decision, ...record }) => {
      const { used, limit, group, rule } = decision;
      const what = record.mode === 'report' ? 'would be refused' : 'refused';
      log.info({ ...record, used, limit, group, rule }, what);
    },
    unasked: decision => unasked.record(decision),
    health: () => ({ reasons: notReady({ ledger, rootsAway: measuring.rootsAway }) }),
    unforeseen: error => log.error({ err: error }, "a mistake of softquota's own"),
  };
}
