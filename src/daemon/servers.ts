/** Opens all servers: the gate, the trusted gate, and the API on its socket and its address. */

import type { Config } from '../config/index.ts';
import { DayCounts } from '../day-counts.ts';
import {
  type Gate,
  type GateServices,
  openGate,
  openGateAt,
  PushQuestions,
  type UploadSettings,
} from '../gate/index.ts';
import { notes, notReady } from '../health/index.ts';
import { synchronizeClaimed } from '../identity/index.ts';
import { lfsBatchRoutes, repositoryPaths, routesOf } from '../layout/index.ts';
import { sparingLog } from '../log.ts';
import type { UnaskedRecord } from '../quota/index.ts';
import * as service from '../service/index.ts';
import { addressOf } from '../wire/index.ts';
import { type DaemonParts, openApi, type ServedParts } from './readers.ts';

/** Bounds that could not be checked, by bound and kind of data. */
type UnaskedLimits = DayCounts<Pick<UnaskedRecord, 'owner' | 'per' | 'subject'>>;

interface ServersOptions extends ServedParts {
  readonly env: NodeJS.ProcessEnv;
  readonly socketLost: service.SocketWatch['lost'];
}

/** Interval at which the paths of the sockets are checked. */
const lookAtSocketsMs = 60_000;

/**
 * Opens all of them or none; rejects with `configuration`. `url` is the address of the HTTP API; `close`
 * answers pending requests first.
 */
export async function openServers(
  options: ServersOptions,
): Promise<Pick<Gate, 'close'> & { readonly url: string }> {
  const { current, env, log, refusals } = options;
  const { server, gate } = current.config;
  const unaskedLimits: UnaskedLimits = new DayCounts();
  const parts = gateServices(options, unaskedLimits);
  const pushQuestions = new PushQuestions(parts);
  const services: GateServices = { ...parts, pushQuestions };
  const shares = sharesOf(service.openFilesLimit(), log);
  const inherited = service.inheritedSockets(env, process.pid);
  const watchOf = (isInherited: boolean): service.SocketWatch => ({
    everyMs: lookAtSocketsMs,
    renewed: path => {
      log.warn({ path }, `the socket was gone, and is made anew${isInherited ? `. ${howToInherit}` : ''}`);
      // The files that hooks read beside the socket are gone, too.
      refusals.lookAtAll();
    },
    lost: options.socketLost,
  });
  const place = (name: service.SocketName, made: service.SocketPlace): service.SocketPlace => {
    const descriptor = inherited.get(name);
    const watch = watchOf(descriptor !== undefined);
    return { ...made, watch, ...(descriptor === undefined ? {} : { descriptor }) };
  };
  const opened: Gate[] = [];
  const unwatch = service.watchDescriptors({
    exhausted: code =>
      log.error({ code }, `no file can be opened any more: ${howToRaise}. Idle connections are closed`),
    makeRoom: () => {
      for (const each of opened) each.makeRoom();
    },
  });
  const close = async () => {
    unwatch();
    pushQuestions.close();
    // The worker's open connection would keep the gate open.
    await options.worker.close();
    await Promise.all(opened.map(each => each.close()));
  };
  try {
    const { socket, socketMode, socketGroup, trustedSocket, trustedMode, trustedGroup } = server;
    const gateMade = { path: socket, mode: socketMode, group: socketGroup, setting: '[server] SOCKET' };
    const ofGate = { mostConnections: shares.gate };
    opened.push(await openGate(services, place('gate', gateMade), 'anybody', ofGate));
    const setting = '[server] TRUSTED_SOCKET';
    const trustedMade = { path: trustedSocket, mode: trustedMode, group: trustedGroup, setting };
    const ofTrusted = { mostConnections: shares.trusted };
    opened.push(await openGate(services, place('trusted', trustedMade), 'trusted', ofTrusted));
    if (gate.port !== null) {
      const address = { host: gate.addr, port: gate.port, settings: { host: '[gate] ADDR', port: 'PORT' } };
      opened.push(await openGateAt(services, address, server.trustedProxies, ofGate));
    }
    const adminMade = {
      path: server.adminSocket,
      mode: 0o600,
      group: null,
      setting: '[server] ADMIN_SOCKET',
    };
    const apiParts = {
      ...options,
      unmanagedPushes: () => pushQuestions.unmanaged,
      unaskedLimits: () => unaskedLimits.list,
      unforeseen: services.unforeseen,
    };
    const url = await openApi(apiParts, place('admin', adminMade), shares, opened);
    return { url, close };
  } catch (error) {
    await close();
    throw error;
  }
}

const howToInherit =
  'Its mode and group may be others: systemctl restart softquota.socket softquota-trusted.socket softquota';

const howToRaise =
  'raise the limit, which is LimitNOFILE= in a unit of systemd, nofile in limits.conf(5) and --ulimit of docker run';

/** Reasons why decisions may be unreliable at the moment; empty if they are reliable. */
export function reasonsAgainst(parts: DaemonParts): readonly string[] {
  const { rootsAway, status } = parts.measuring;
  const { hangs } = status;
  return notReady({ ...parts, rootsAway, hangs, forge: parts.forge?.observed() ?? null });
}

/** Returns how many connections each server takes. If the system allows fewer than usual, the log says so. */
function sharesOf(limit: number | null, log: service.Logger): service.ConnectionShares {
  const shares = service.connectionShares(limit);
  if (limit !== null && limit < service.enoughDescriptors) {
    log.warn(
      { limit, enough: service.enoughDescriptors, connections: shares },
      `this process may open ${limit} files, so hooks can have ${shares.gate} connections at a time and the HTTP API ${shares.http}: ${howToRaise}`,
    );
  }
  return shares;
}

/** `[hooks] CONTACT`, else the page My usage; null without [server] ROOT_URL. */
function contactIn(config: Config): string | null {
  const { hooks, requests } = config;
  if (hooks.contact !== null) return hooks.contact;
  const page = myUsageIn(config);
  return page === null || requests.enabled ? page : `What takes the space: ${page}`;
}

function myUsageIn({ server }: Config): string | null {
  return server.rootUrl === null ? null : `${server.rootUrl}${addressOf('mine')}`;
}

function gateServices(
  parts: ServersOptions,
  unaskedLimits: UnaskedLimits,
): Omit<GateServices, 'pushQuestions'> {
  const { current, events, fleet, forge, ledger, measuring, notices, worker, metrics } = parts;
  const log = sparingLog(parts.log);
  // A log of its own, so that many refusals leave lines for faults.
  const refusalLog = sparingLog(parts.log);
  return {
    metrics,
    ledger,
    synchronize: claimed => {
      const { autoCreate } = current.config.users;
      return synchronizeClaimed({ documents: ledger.documents, autoCreate, log }, claimed, null);
    },
    locate: path => measuring.locate(path),
    settleOwner: (name, isPush) => (forge === null ? null : forge.names.settle(name, isPush)),
    fullDisk: (path, subject) => measuring.freeSpace.fullFor(path, subject),
    measureSoon: path => {
      measuring.pushes.measure(path);
      worker.changed(path);
    },
    letThrough: path => {
      worker.letThrough(path);
      measuring.letThrough(path);
    },
    contact: () => contactIn(current.config),
    showsFigures: owner => {
      if (!current.config.gate.figures) return false;
      return forge === null
        ? ledger.documents.owners.named(owner) !== undefined
        : forge.names.isPublic(owner);
    },
    myUsage: () => myUsageIn(current.config),
    uploads: uploadSettings(() => current.config),
    notUnderstood: why => log.warn({ why }, 'a reverse proxy asks in a way that cannot be answered'),
    refused: (refusal, unitPath) => {
      events.refused(refusal);
      if (unitPath !== undefined) worker.refused(unitPath);
      const { decision, ...record } = refusal;
      const { used, limit, group, rule } = decision;
      const what = record.mode === 'report' ? 'would be refused' : 'refused';
      refusalLog.info({ ...record, used, limit, group, rule }, what);
    },
    unasked: record => {
      events.unasked(record);
      const { owner, per, subject } = record;
      unaskedLimits.note(`${per} ${subject}`, { owner, per, subject });
    },
    worker,
    pushes: measuring.pushes,
    health: () => ({
      reasons: reasonsAgainst(parts),
      notes: notes({
        ...measuring.status,
        ledger,
        missingKeys: current.keys.missing,
        shortDisks: measuring.freeSpace.short,
        notices: notices.places(),
        worker: worker.presence(current.config),
        fleet: fleet && { advice: fleet.lastAdvice, state: fleet.state },
      }),
    }),
    unforeseen: error => log.error({ err: error }, 'internal error (please report it)'),
  };
}

/** Returns a function that makes the settings of the current configuration once. */
function uploadSettings(current: () => Config): () => UploadSettings {
  const made = new WeakMap<Config, UploadSettings>();
  return () => {
    const settings = made.get(current()) ?? settingsOf(current());
    made.set(current(), settings);
    return settings;
  };
}

function settingsOf({ gate, lfs, storages }: Config): UploadSettings {
  const { presets, base, isEarly, headers, onError } = gate;
  const templates = storages.find(({ kind }) => kind === 'repos')?.templates ?? [];
  return {
    routes: [...gate.routes, ...routesOf(presets, base, isEarly)],
    headers,
    onError,
    lfs: {
      upstream: lfs.upstream === null ? null : new URL(lfs.upstream),
      batchRoutes: lfsBatchRoutes(base),
      base,
    },
    repositoryPathsOf: ({ owner, repository }) =>
      repository === null ? [] : repositoryPaths(templates, owner, repository),
  };
}
