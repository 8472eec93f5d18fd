/**
 * Connects the readers of the daemon's state with it: the API, which its administrator has on a socket and
 * everybody with a token, and the notices.
 */

import { type BigIntStats, statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { type ApiServices, serveEverybody, serveLocally } from '../api/index.ts';
import type { Config } from '../config/index.ts';
import type { Fleet } from '../fleet/index.ts';
import type { Gate, Refusals } from '../gate/index.ts';
import { findings, hungDisks, type Observed, unownedKinds } from '../health/index.ts';
import { type Identity, type SecretKeys, SignInFlow, sourcesWithLostSecrets } from '../identity/index.ts';
import { backupOf, type Ledger, policyFaults } from '../ledger/index.ts';
import { type Log, sparingLog } from '../log.ts';
import type { ForgeSync, Measuring } from '../measuring/index.ts';
import { Notices, type PresentFault, type PresentFaults, type Summary } from '../notices/index.ts';
import { type Events, type History, judgedKind, outlookOf, type Totals } from '../overview/index.ts';
import { everyRequest } from '../policy/index.ts';
import { fullDiskWords } from '../quota/index.ts';
import type { ConnectionShares, Logger, SocketPlace } from '../service/index.ts';
import { firstOf } from '../sorting.ts';
import { filterMapInSlices } from '../turns.ts';
import type { KeptKeys } from './data-path.ts';
import type { Metrics } from './metrics.ts';
import type { DaemonWorker } from './worker-state.ts';

/** The configuration in force; replaced piece by piece when the daemon reloads. */
export interface Current {
  config: Config;
  readonly keys: KeptKeys;
  /**
   * Returns when the file was written, in milliseconds since 1970, if that was after it was read; else null.
   */
  writtenSince(): Promise<number | null>;
  /** The reason why the file is not in force as it was last read; null if it is. */
  refused: string | null;
  /** Keys that were changed since the start and need a restart, as `[section] KEY`. */
  restartKeys: readonly string[];
}

/** Has to be called when the file has just been read; null: there is no file. */
export function watchWritten(path: string | null): Current['writtenSince'] {
  if (path === null) return async () => null;
  let read: string | null = null;
  try {
    read = identityOf(statSync(path, { bigint: true }));
  } catch {
    // The file is gone or cannot be read; the next reload says so.
  }
  return async () => {
    const now = await stat(path, { bigint: true }).catch(() => null);
    return now === null || identityOf(now) === read ? null : Number(now.mtimeMs);
  };
}

function identityOf({ ino, size, mtimeNs }: BigIntStats): string {
  return `${ino} ${size} ${mtimeNs}`;
}

export interface DaemonParts {
  readonly current: Current;
  readonly host: string;
  readonly events: Events;
  readonly fleet: Fleet | null;
  /** Null: no forge's database is read. */
  readonly forge: ForgeSync | null;
  readonly history: History;
  readonly identity: Identity;
  readonly ledger: Ledger;
  readonly measuring: Measuring;
  readonly refusals: Refusals;
  readonly totals: Totals;
  readonly secretKeys: SecretKeys;
  readonly worker: DaemonWorker;
  readonly log: Logger;
}

export interface ServedParts extends DaemonParts {
  readonly notices: Notices;
  /** Null: metrics are off. */
  readonly metrics: Metrics | null;
}

interface ApiParts extends Omit<ServedParts, 'log'> {
  readonly log: Log;
  unmanagedPushes(): Observed['unmanagedPushes'];
  unaskedLimits(): Observed['unaskedLimits'];
  unforeseen(error: unknown): void;
}

/**
 * Opens the API on its socket and over HTTP, and resolves with the address. Adds each server to `opened`;
 * the caller closes these, also after a failure. Rejects with `configuration`.
 */
export async function openApi(
  parts: ApiParts,
  socket: SocketPlace,
  shares: ConnectionShares,
  opened: Pick<Gate, 'close' | 'makeRoom'>[],
): Promise<string> {
  const { server } = parts.current.config;
  const bound = { url: `http://${server.httpAddr}:${server.httpPort}/` };
  const baseUrl = () => server.rootUrl ?? bound.url;
  const { ledger, secretKeys: keys } = parts;
  const log = sparingLog(parts.log);
  const signIn = new SignInFlow({ documents: ledger.documents, keys, log, baseUrl, now: Date.now });
  const services = servicesOf({ ...parts, log }, signIn, baseUrl);
  opened.push(await serveLocally(services, socket, shares.admin));
  const { httpAddr: host, httpPort: port, trustedProxies } = server;
  const mostConnections = shares.http;
  const everybody = await serveEverybody(services, { host, port, trustedProxies, mostConnections });
  opened.push(everybody);
  bound.url = everybody.url;
  return bound.url;
}

/** Time limit for disks that do not answer. */
const deadlineMs = 1000;

function servicesOf(parts: ApiParts, signIn: SignInFlow, baseUrl: () => string): ApiServices {
  const { current, forge, measuring, metrics, refusals, unaskedLimits, unmanagedPushes, worker, ...asked } =
    parts;
  const { fleet, host, ledger, secretKeys } = asked;
  return {
    ...asked,
    documents: ledger.documents,
    signIn,
    space: worker.space,
    metrics: metrics && { token: current.config.metrics.token, text: () => metrics.text() },
    scanner: measuring.scanner,
    unitNames: () => measuring.unitNames(),
    placed: path => measuring.placed(path),
    acceptGone: () => forge?.acceptGone(),
    contact: () => current.config.hooks.contact,
    asking: () => current.config.requests,
    autoCreate: current.config.users.autoCreate,
    baseUrl,
    findings: async () => {
      const { config, restartKeys } = current;
      const disks = await measuring.scanner.disks(deadlineMs);
      return findings({
        outlook: await outlookOf(asked, disks),
        keepsFree: config.disk.minFree !== null,
        ...measuring.observed(),
        ledger,
        forge: forge?.observed() ?? null,
        // These calls may fail while the store is away.
        fleet: fleet && {
          state: fleet.state,
          advice: await fleet.advice().catch(() => []),
          hosts: await fleet.hosts().catch(() => []),
        },
        storages: config.storages.length,
        policyFaults: await policyFaults(ledger),
        unpublished: refusals.trouble,
        unmanagedPushes: unmanagedPushes(),
        unaskedLimits: unaskedLimits(),
        worker: { ...worker.presence(config), ...(await worker.space.observed()) },
        notices: asked.notices.places(),
        configWrittenAt: await current.writtenSince(),
        configRefused: current.refused,
        missingKeys: current.keys.missing,
        restartKeys,
        lostSecrets: sourcesWithLostSecrets(ledger.documents.snapshot, secretKeys),
        trustedSocket: current.config.server.trustedSocket,
        pid: process.pid,
        uid: process.getuid?.() ?? -1,
        now: Date.now(),
      });
    },
    shortDisks: () => measuring.freeSpace.short,
    strays: () => measuring.pushes.strays,
    worker: () => ({
      running: worker.isHere,
      version: worker.presence(current.config).state?.version ?? null,
    }),
    unowned: () => unownedKinds(forge?.observed() ?? null, ledger.units.unowned),
    backup: () => backupOf(ledger, host),
  };
}

const mostWorst = 10;

export function openNotices(parts: DaemonParts): Notices {
  const { current, host, ledger, events, measuring, secretKeys: keys, log } = parts;
  // The configuration requires ROOT_URL for mails; webhooks have no links.
  const baseUrl = () => current.config.server.rootUrl ?? 'http://localhost/';
  return new Notices({
    settings: current.config,
    documents: ledger.documents,
    events,
    ledger,
    host,
    unitNames: () => measuring.unitNames(),
    keys,
    baseUrl,
    now: Date.now,
    present: () => presentFaults(parts),
    summary: since => summaryOf(parts, since),
    log,
  });
}

function presentFaults({ ledger, fleet, forge, measuring }: DaemonParts): PresentFaults {
  const { hangs, rootsAway } = measuring.observed();
  const away = fleet?.state.away ?? fleet?.state.untold ?? null;
  const read = forge?.observed() ?? null;
  const faults: PresentFault[] = [
    ...(ledger.storeAway === null ? [] : [fault('store', '', ledger.storeAway.reason)]),
    ...(away === null ? [] : [fault('shared_store', '', away.reason)]),
    ...measuring.freeSpace.short.map(({ path, disk }) => fault('disk_low', path, fullDiskWords(disk))),
    ...measuring.freeSpace.short
      .filter(({ state }) => state === 'full')
      .map(({ path, disk }) => fault('disk_full', path, `${fullDiskWords(disk)}; adding data is refused`)),
    ...hungDisks(hangs).map(({ mountedAt }) => fault('disk_hangs', mountedAt, 'its server may be away')),
    ...rootsAway.map(({ path, why }) => fault('storage_missing', path, why)),
    ...(read?.fault ? [fault('forge', '', read.fault.message)] : []),
  ];
  // Before the first reading, the state of the forge is unknown.
  const isUnknown = read !== null && read.fault === null && read.readAt === null;
  return { faults, unknown: isUnknown ? ['forge'] : [] };
}

function fault(what: PresentFault['what'], where: string, reason: string): PresentFault {
  return { what, where, reason };
}

async function summaryOf(parts: DaemonParts, since: number): Promise<Summary> {
  const { totals, history, events, ledger, measuring } = parts;
  const [figures, disks, past, refusals] = await Promise.all([
    totals.lately(),
    measuring.scanner.disks(deadlineMs),
    history.of(null, 'month'),
    events.refusalsSince(since),
  ]);
  const outlook = await outlookOf(parts, disks);
  const open = [...everyRequest(ledger.documents.snapshot)].filter(([, { state }]) => state === 'open');
  return {
    since,
    figures,
    growthPerDay: past.growth?.perDay ?? null,
    freeBytes: disks.some(({ freeBytes }) => freeBytes !== null) ? outlook.free : null,
    fullAt: outlook.full_at,
    refusals,
    openRequests: open.length,
    worst: [...(await worstOf(parts)), ...worstPools(parts)],
  };
}

async function worstOf({ ledger, totals }: DaemonParts): Promise<Summary['worst']> {
  const { owners } = ledger.documents;
  const near = filterMapInSlices(owners.all, ({ key, name }) => {
    const nearness = totals.nearnessOf(key);
    return nearness.state === 'ok' ? undefined : { name, ...nearness };
  });
  const fullest = await firstOf(
    near,
    mostWorst,
    (a, b) => b.fullness - a.fullness || (a.name < b.name ? -1 : 1),
  );
  return fullest.first;
}

/** Limits of all members of a group together that are near or exceeded, the fullest first. */
function worstPools({ ledger: { policy, pools, settings } }: DaemonParts): Summary['worst'] {
  return [...policy.pooled]
    .flatMap(group => pools.decisions(group, 'stored'))
    .map(decision => {
      const { state, fullness } = judgedKind(settings, decision, 0);
      return { name: `group ${decision.group}, rule ${decision.rule}`, state, fullness };
    })
    .filter(({ state }) => state !== 'ok')
    .sort((a, b) => b.fullness - a.fullness || (a.name < b.name ? -1 : 1))
    .slice(0, mostWorst);
}
