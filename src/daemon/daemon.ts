/**
 * The composition root: opens what the configuration names, starts it, and stops it in reverse.
 *
 * The gate opens before anything is measured: a started daemon decides at once from what it
 * knew when it stopped.
 */

import {
  type Config,
  compareConfigs,
  formatFaults,
  type LoadedConfig,
  merged,
  type RefusedConfig,
} from '../config/index.ts';
import { Fleet } from '../fleet/index.ts';
import { Refusals } from '../gate/index.ts';
import type { ObservedForge } from '../health/index.ts';
import { Identity, identityKinds } from '../identity/index.ts';
import { forgeSource, Ledger } from '../ledger/index.ts';
import { ForgeSync, forgeLinkKinds, Measuring } from '../measuring/index.ts';
import { noticeKinds } from '../notices/index.ts';
import { Events, History, Totals } from '../overview/index.ts';
import { endGroupModes, requestKinds } from '../policy/index.ts';
import type { Logger } from '../service/index.ts';
import { type HistoryStore, openRedisStore, openStore } from '../store/index.ts';
import { version } from '../version.ts';
import { hostIdIn, hostTokenIn, KeptKeys, prepareDataPath, secretKeysIn, storeFile } from './data-path.ts';
import { type Current, openNotices, type ServedParts, watchWritten } from './readers.ts';
import { openServers, reasonsAgainst } from './servers.ts';
import { spacePage } from './space-lines.ts';
import { DaemonWorker } from './worker-state.ts';

interface DaemonOptions {
  readonly config: Config;
  /** See `KeptKeys`. */
  readonly written?: LoadedConfig;
  readonly env: NodeJS.ProcessEnv;
  readonly log: Logger;
  /** Called when a socket is lost and cannot be made again: only a restart helps. */
  readonly socketLost?: (error: unknown) => void;
}

type Opened = { close(): Promise<void> }[];

export class Daemon {
  readonly #parts: ServedParts;
  /** The parts, each after those that it needs. */
  readonly #opened: Opened;

  private constructor(parts: ServedParts, opened: Opened) {
    this.#parts = parts;
    this.#opened = opened;
  }

  /**
   * Starts a daemon; resolves when it answers. Rejects with `configuration` or `store_refused`, and then
   * nothing is left running.
   */
  static async start({ config, written, env, log, socketLost = () => {} }: DaemonOptions): Promise<Daemon> {
    const { dataPath, hostId, socket } = config.server;
    prepareDataPath(dataPath);
    const host = hostId ?? hostIdIn(dataPath);
    const secretKeys = secretKeysIn(config);
    const keys = new KeptKeys(dataPath, written, log);
    const current: Current = {
      config,
      keys,
      writtenSince: watchWritten(config.file),
      refused: null,
      restartKeys: [],
    };
    const opened: Opened = [];
    const open = <Part extends Opened[number]>(part: Part): Part => {
      opened.push(part);
      return part;
    };
    try {
      const { ledger, store } = await openLedger(config, host, log);
      open(ledger);
      const fleet = await joinFleet(config, host, ledger, log);
      if (fleet !== null) open(fleet);
      await endGroupModes(ledger.documents, log);
      const refusals = open(
        new Refusals({
          ledger,
          disks: {
            get areAny() {
              return measuring.freeSpace.short.some(({ state }) => state === 'full');
            },
            at: (path, subject) => measuring.freeSpace.fullFor(path, subject),
          },
          socket,
          socketMode: config.server.socketMode,
          foldCase: config.users.foldCase,
          log,
        }),
      );
      const forge =
        config.forge &&
        new ForgeSync({
          settings: config.forge,
          ledger,
          log,
          fullLateMs: () => measuring.sweepLateMs(),
          renamed: renames => {
            // Paths of GitLab name no owner.
            if (config.forge?.kind !== 'gitlab') measuring.ownersRenamed(renames);
          },
          visibilityChanged: mayHave => void measuring.visibilityChanged(mayHave),
          mayCount: () => (fleet === null ? true : fleet.countsForge),
        });
      const visibility = forge?.visibility ?? null;
      const worker: DaemonWorker = new DaemonWorker({
        reach: ledger.reach,
        ledger,
        forge,
        pageOf: unit => spacePage(current.config.server.rootUrl, unit, measuring.unitNames()(unit)),
        quarantineRemoved: unit => measuring.pushes.lookAgain(unit),
        collected: figures => {
          const { freed_bytes: freed = 0, fault = null } = figures.collected ?? {};
          measuring.measureSoon(figures.path);
          metrics?.collected(freed, fault !== null);
          const owner = ledger.units.unit(figures.path)?.owner ?? null;
          const repository = measuring.placed(figures.path)?.title ?? figures.path;
          events.collected({ owner, repository, freed, fault });
        },
        measure: () => current.config.scan.measure,
        reclaim: () => current.config.reclaim,
        now: Date.now,
        log,
      });
      // Earlier measurements no longer count if nobody measures again.
      if (config.reclaim.run === 'never') ledger.reach.forget();
      const measuring: Measuring = open(
        new Measuring({
          config,
          ledger,
          log,
          fleet,
          visibility,
          repositories: worker,
          pushWorker: worker,
          inherited: told => events.inherited(told),
          sweepDue: () => forge?.readAll(),
          onFullChanged: () => refusals.lookAtAll(),
          missingKeys: () => keys.missing,
          accepted: async () => {
            // While the store is away, the keys stay missing, so that they are accepted another time.
            if (forge === null) await forgetForge(ledger, log);
            keys.accept();
          },
        }),
      );
      ledger.titleOf = path => measuring.placed(path)?.title ?? null;
      if (forge !== null) open(forge);
      else if (keys.missing.length === 0) await forgetForge(ledger, log);
      const identity = open(new Identity({ documents: ledger.documents, now: Date.now, log }));
      const { keepMs } = config.events;
      const events = open(await Events.open({ ledger, host, keepMs, log, now: Date.now, turn: fleet }));
      const totals = open(new Totals({ ledger, log }));
      const history = open(
        new History({ store, owners: ledger.documents.owners, totals, log, now: Date.now }),
      );
      const parts = {
        current,
        host,
        events,
        fleet,
        forge,
        history,
        identity,
        ledger,
        measuring,
        refusals,
        totals,
        secretKeys,
        worker,
        log,
      };
      const notices = open(openNotices(parts));
      const { Metrics } = config.metrics.enabled ? await import('./metrics.ts') : { Metrics: null };
      const isReady = () => reasonsAgainst(parts).length === 0;
      const metrics = Metrics && new Metrics({ ...parts, notices, isReady });
      const served = { ...parts, notices, metrics };
      const servers = open(await openServers({ ...served, env, socketLost }));
      // Only after this daemon has the gate: before, it could overwrite another daemon's file.
      refusals.start();
      const { enabled, mode } = config.quota;
      const { unitCount: units } = ledger.units;
      log.info({ version, host, socket, http: servers.url, enabled, mode, units }, 'softquota answers');
      ledger.graces.start({ isTurn: () => fleet?.isTelling ?? true });
      measuring.start();
      forge?.start();
      worker.start();
      events.start();
      notices.start();
      identity.start();
      totals.start();
      history.start(measuring.isMeasured);
      fleet?.start({
        turned: () => {
          events.takeTurn();
          ledger.graces.takeTurn();
        },
        roots: () => measuring.roots(),
        heard: path => void measuring.heard(path),
      });
      return new Daemon(served, opened);
    } catch (error) {
      await closeAll(opened, log).catch(() => {});
      throw error;
    }
  }

  /** Applies the keys that can change at run time. A faulty configuration leaves the old one in force. */
  reload(loaded: LoadedConfig | RefusedConfig): void {
    const { current, ledger, measuring, events, notices, log } = this.#parts;
    if (!loaded.ok) {
      const { faults } = loaded;
      const why = formatFaults(faults);
      log.error({ faults: faults.length }, `the configuration is not changed:\n${why}`);
      current.refused = why.split('\n', 1).join();
      return;
    }
    current.refused = null;
    current.writtenSince = watchWritten(loaded.config.file);
    const names = (old: Config, now: Config) =>
      compareConfigs(old, now).map(({ section, name }) => `[${section}] ${name}`);
    const next = merged(current.config, loaded.config);
    const changed = names(current.config, next);
    const later = names(next, loaded.config);
    current.config = next;
    ledger.settings = next.quota;
    measuring.reconfigure(next);
    events.reconfigure(next.events);
    notices.reconfigure(next);
    log.level = next.log.level;
    log.info({ changed }, 'the configuration is reloaded');
    current.restartKeys = later;
    // If changes wait for a restart, a key that is back in the file may not be in force yet.
    if (later.length === 0) current.keys.take(loaded);
    else log.warn({ changed: later }, `these keys change at the next start: ${later.join(', ')}`);
  }

  /** Resolves after the first reading of the forge's database, or its failure; null if there is no forge. */
  async firstForgeReading(): Promise<ObservedForge | null> {
    return (await this.#parts.forge?.firstReading()) ?? null;
  }

  /** Ends the threads that measure, and waits for nothing else; resolves with how many a disk blocks. */
  endThreads(): Promise<number> {
    return this.#parts.measuring.scanner.close();
  }

  /**
   * Answers pending requests, stops walking, writes pending records, and closes the store. Resolves with the
   * number of threads that a disk blocks: while there is one, the process cannot exit by itself.
   */
  async stop(): Promise<number> {
    const { forge, log, measuring } = this.#parts;
    await closeAll(this.#opened, log);
    log.info('softquota has stopped');
    return measuring.hangingThreads + (forge?.hangingThreads ?? 0);
  }
}

/** Closes the parts, the last one first. Logs each failure, and at the end rejects with the first. */
async function closeAll(opened: Opened, log: Logger): Promise<void> {
  const failures: unknown[] = [];
  for (const part of opened.reverse()) {
    await part.close().catch((err: unknown) => {
      failures.push(err);
      log.error({ err }, 'a part of the daemon cannot be closed');
    });
  }
  if (failures.length > 0) throw failures[0];
}

async function openLedger(
  config: Config,
  host: string,
  log: Logger,
): Promise<{ readonly ledger: Ledger; readonly store: HistoryStore }> {
  const file = storeFile(config.server.dataPath);
  const store = await openStore({ file, log });
  try {
    const ledger = await Ledger.open({
      store,
      unitSources: store.unitSources,
      host,
      settings: config.quota,
      kinds: [...identityKinds, ...requestKinds, ...forgeLinkKinds, ...noticeKinds],
      foldCase: config.users.foldCase,
      log,
    });
    return { ledger, store };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** Joins the hosts that share a quota; null if this one shares none. Rejects as `Daemon.start` does. */
async function joinFleet(config: Config, host: string, ledger: Ledger, log: Logger): Promise<Fleet | null> {
  const { adapter, host: address, prefix, waitReplicas } = config.store;
  if (adapter === 'sqlite') {
    ledger.shares.standAlone();
    return null;
  }
  const token = hostTokenIn(config.server.dataPath);
  const store = await openRedisStore({ address, prefix, waitReplicas, log, writer: host });
  const hasForge = config.forge !== null;
  const praefectStorage = config.forge?.praefect?.storage ?? null;
  return Fleet.open({ ledger, store, host, token, version, hasForge, praefectStorage, log, now: Date.now });
}

/** Removes the figures of a forge that app.ini no longer names. */
async function forgetForge(ledger: Ledger, log: Logger): Promise<void> {
  if (ledger.sources.report(forgeSource) === undefined) return;
  await ledger.sources.remove(forgeSource);
  log.info('app.ini names no forge any more: its figures no longer count');
}
