/** Records in the ledger what the scanner measures, and finds the unit of a path. */

import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../config/index.ts';
import { SoftquotaError } from '../errors.ts';
import type { Fleet } from '../fleet/index.ts';
import type { LocatedUnit, PushWorker } from '../gate/index.ts';
import type { Observed } from '../health/index.ts';
import type { Ledger, OwnerRename, WalkedRecord } from '../ledger/index.ts';
import { isRepository } from '../quota/index.ts';
import {
  createScanner,
  type Figures,
  type Measurement,
  type Scanner,
  type Schedule,
  type Sweep,
  startSchedule,
} from '../scan/index.ts';
import type { Logger } from '../service/index.ts';
import type { UnitRecord } from '../store/index.ts';
import { printable } from '../text.ts';
import { inSlices } from '../turns.ts';
import { FollowUps, type RepositoryWatch } from './follow-ups.ts';
import {
  type Attribution,
  attributed,
  attributionOf,
  type ForgeVisibility,
  type Inherited,
  type KnownPlace,
} from './forge/visibility.ts';
import { FreeSpace } from './free-space.ts';
import { isElsewhere, moveUnits, ownPathsOf, rootsIn, sharedPathOf, unitName } from './places.ts';
import { type PushClock, Pushes } from './pushes.ts';

/** Milliseconds that a check waits for the disk to resolve a path; less than a hook waits for the check. */
const locateDeadlineMs = 1000;
/** The deadline for paths that other hosts report, for which nobody waits. */
const heardDeadlineMs = 15_000;

/** With as many walks waiting, measurements that only follow a check come later. */
const mostWaiting = 64;

interface MeasuringParts {
  readonly config: Config;
  readonly ledger: Pick<Ledger, 'documents' | 'kept' | 'ownerUsage' | 'reservations' | 'units' | 'walks'>;
  readonly log: Logger;
  /** Null: this host walks all that it has. */
  readonly fleet: Pick<Fleet, 'passOn'> | null;
  /** Tells what is public if a forge's database is read; null if none is. */
  readonly visibility: Pick<ForgeVisibility, 'leafOf' | 'placed'> | null;
  readonly repositories: RepositoryWatch;
  /** The git user's worker, for what the daemon may not read; null: there is none. */
  readonly pushWorker: Pick<PushWorker, 'isHere' | 'largeFiles' | 'quarantine'> | null;
  /** Called when the schedule has a sweep or a verification begin. */
  sweepDue(): void;
  /** Called when a pool whose project is gone counts for another owner. */
  readonly inherited: (told: Inherited) => void;
  /** Called when a disk has become full, or is no longer full. */
  onFullChanged(): void;
  /** Names of the keys that are missing in app.ini; see `KeptKeys`. */
  missingKeys(): readonly string[];
  /** Called when an administrator's scan accepts the missing keys; that scan fails if it rejects. */
  accepted(): Promise<void>;
  readonly clock?: PushClock;
}

export class Measuring {
  readonly scanner: Scanner;
  readonly freeSpace: FreeSpace;
  /** The pushes under way, and the quarantines that belong to none. */
  readonly pushes: Pushes;
  /** The storage roots that are missing; their units keep their bytes. */
  rootsAway: Observed['rootsAway'] = [];
  readonly #measured = Promise.withResolvers<void>();
  /** Resolves after the first whole sweep since the start. */
  readonly isMeasured = this.#measured.promise;
  readonly #parts: MeasuringParts;
  #config: Config;
  #schedule: Schedule | null = null;
  /** The end of the last whole sweep, on the monotonic clock. */
  #sweptAt: number | null = null;
  #rootsUnused: Observed['rootsUnused'] = [];
  /** Number of threads that were left behind by `close`, because a disk never answered them. */
  hangingThreads = 0;
  /** True until a whole sweep ends with no key missing: an earlier walk may not know storage that is back. */
  #missesKeys: boolean;
  readonly #followUps = new FollowUps({
    measure: path => {
      this.measureSoon(path);
      this.#parts.repositories.mayHaveChanged(path);
    },
    isBusy: () => this.scanner.status().waiting.soon >= mostWaiting,
  });

  constructor(parts: MeasuringParts) {
    const { config, ledger, log, onFullChanged } = parts;
    this.#parts = parts;
    this.#config = config;
    this.#missesKeys = parts.missingKeys().length > 0;
    this.freeSpace = new FreeSpace({
      settings: config.disk,
      disks: deadlineMs => this.scanner.disks(deadlineMs),
      objectsOf: path => this.scanner.objectsOf(path),
      log,
      onFullChanged,
    });
    this.pushes = new Pushes({
      scanner: () => this.scanner,
      ledger,
      worker: parts.pushWorker,
      measure: () => this.#config.scan.measure,
      isElsewhere: path => isElsewhere(path, this.scanner.places()),
      measureSoon: path => this.measureSoon(path),
      letThrough: path => this.letThrough(path),
      grew: (path, bytes) => this.freeSpace.took(path, bytes),
      ended: path => this.#parts.repositories.mayHaveChanged(path),
      ...(parts.clock === undefined ? {} : { clock: parts.clock }),
    });
    this.scanner = createScanner({
      storages: config.storages,
      exclude: config.scan.exclude,
      workers: config.scan.workers,
      measure: config.scan.measure,
      cacheFile: join(config.server.dataPath, 'scan.db'),
      figures: this.#figures(),
      isWatched: true,
      log,
    });
  }

  #figures(): Figures {
    const { documents, units, walks } = this.#parts.ledger;
    return {
      ownerKeyOf: ({ path, owner: found, ownerFault }) => {
        const owner = found ?? (ownerFault === undefined ? units.unit(path)?.owner : null) ?? null;
        return owner === null ? null : documents.owners.keyOf(owner);
      },
      knownBytes: path => this.pushes.withoutThem(path),
      knownBelow: path => units.pathsBelow(path),
      rootRecord: path => walks.root(path),
      nextSeq: () => walks.nextSeq(),
      missesKeys: () => this.#missesKeys,
      report: measurement => this.#record(measurement),
      swept: sweep => this.#swept(sweep),
      pushes: this.pushes,
    };
  }

  /** Measures everything now, and from now on as scheduled. */
  start(): void {
    this.scanner.sweep({ kind: 'sweep' });
    this.#schedule = this.#startSchedule();
    void this.freeSpace.look();
    this.pushes.start();
  }

  reconfigure(config: Config): void {
    const before = this.#config;
    this.#config = config;
    const { exclude, measure } = config.scan;
    this.scanner.reconfigure({ storages: config.storages, exclude, measure });
    if (this.#missesKeys) this.scanner.sweepUnlessCovered();
    this.freeSpace.reconfigure(config.disk);
    if (config.scan.schedule !== before.scan.schedule) {
      this.#schedule?.close();
      this.#schedule = this.#startSchedule();
    }
  }

  /** Measures the unit at this path, or has it measured by the host that walks it. */
  measureSoon(path: string): void {
    const places = this.scanner.places();
    if (!isElsewhere(path, places)) {
      void this.scanner.measureSoon(path);
      return;
    }
    const sharedPath = sharedPathOf(path, places);
    if (sharedPath !== null) this.#parts.fleet?.passOn(sharedPath);
  }

  /** Plans measurements of the unit at this path after a check that allowed something. */
  letThrough(path: string): void {
    this.#followUps.checked(path);
  }

  /** Measures a unit after another host has reported a change there; see places.ts for shared paths. */
  async heard(sharedPath: string): Promise<void> {
    for (const path of ownPathsOf(sharedPath, this.scanner.places())) {
      try {
        const known = this.#parts.ledger.units.unitAt(path);
        const unit =
          known === null ? await this.locate(path, heardDeadlineMs) : { path: known.name, exists: true };
        if (!unit.exists) continue;
        void this.scanner.measureSoon(unit.path);
        this.#parts.repositories.changed(unit.path);
      } catch {
        // There may be no unit, or the disk does not answer: the next sweep finds it.
      }
    }
  }

  /** Implements `GateServices.locate`. */
  async locate(
    path: string,
    deadlineMs = locateDeadlineMs,
  ): Promise<LocatedUnit & { readonly exists: boolean }> {
    const located = await this.scanner.locate(path, deadlineMs);
    switch (located.found) {
      case 'none':
        throw new SoftquotaError(
          'unknown_path',
          `${printable(path)} is under no storage template ([storage.*] PATH)`,
        );
      case 'unread':
        throw new SoftquotaError('not_ready', `${printable(located.path)} cannot be read: ${located.error}`);
      case 'unit': {
        const { path: unitPath } = located.unit;
        const { leaf, owner } = this.#attributed(unitPath, located.unit);
        const bytes = this.#parts.ledger.units.unit(unitPath)?.bytes ?? null;
        const isOthers = isElsewhere(unitPath, this.scanner.places());
        const exists = located.exists || isOthers;
        return { path: unitPath, owner, leaf, bytes, exists, isElsewhere: isOthers };
      }
    }
  }

  get status(): Pick<Observed, 'hangs' | 'walking'> {
    return this.scanner.status();
  }

  observed() {
    const whole = this.scanner.runs().filter(({ owners }) => owners === null);
    const last = whole.find(({ state }) => state === 'done');
    const ended = whole.find(({ state }) => state === 'done' || state === 'failed');
    const { unread, faults, leftovers } = last?.problems ?? noProblems;
    const { hangs, walking } = this.status;
    const sweptAgoMs = this.#sweptAt === null ? null : performance.now() - this.#sweptAt;
    return {
      hangs,
      walking,
      sweepError: ended?.error ?? null,
      rootsAway: this.rootsAway,
      rootsUnused: this.#rootsUnused,
      sweptAgoMs,
      sweepLateMs: this.sweepLateMs(sweptAgoMs ?? 0),
      unread: { count: unread.count, first: unread.first.map(({ path, error: why }) => ({ path, why })) },
      faults: { count: faults.count, first: faults.first.map(({ path, what: why }) => ({ path, why })) },
      leftovers,
      shortDisks: this.freeSpace.short,
    } satisfies Partial<Observed>;
  }

  /** Milliseconds from a sweep that ended `agoMs` ago until the schedule has missed three. */
  sweepLateMs(agoMs = 0): number {
    return this.#schedule?.lateAfterMs(agoMs) ?? Number.POSITIVE_INFINITY;
  }

  /** Returns this host's storage as other hosts need it; null while it is not known. */
  roots(): ReturnType<typeof rootsIn> {
    const places = this.scanner.places();
    return places.length === 0 && this.#config.storages.length > 0 ? null : rootsIn(places);
  }

  async close(): Promise<void> {
    this.#schedule?.close();
    this.#followUps.close();
    this.pushes.close();
    await this.freeSpace.close();
    this.hangingThreads = await this.scanner.close();
  }

  /**
   * Updates the leaf and the owner of repositories after a change in the forge, without a walk. `mayHave`
   * says which paths may have changed.
   */
  async visibilityChanged(mayHave: (path: string) => boolean): Promise<void> {
    await inSlices(this.#parts.ledger.units.walkedBefore(Number.POSITIVE_INFINITY), unit => {
      if (!mayHave(unit.name)) return;
      const found = this.#attributed(unit.name, unit);
      if (isDeepStrictEqual(found, attributionOf(unit))) return;
      const { name: path, bytes, files, partial, measuredAt, seq } = unit;
      this.#take({ path, ...found, bytes, files, partial, measuredAt, seq }, unit);
    });
  }

  /** Moves the units of owners whom a forge has renamed, and doubts what is forgiven at their new paths. */
  ownersRenamed(renames: readonly OwnerRename[]): void {
    const paths = moveUnits(this.#parts.ledger, renames);
    for (const path of paths) {
      const unit = this.#parts.ledger.units.unit(path);
      if (unit === undefined) this.pushes.forget(path);
      else if (unit.reach !== undefined) this.#parts.repositories.resized(path);
    }
    for (const path of paths.slice(0, mostWaiting)) this.measureSoon(path);
  }

  /** Returns the forge's entry for a repository whose path names no owner; null for any other path. */
  placed(path: string): KnownPlace | null {
    const { ledger, visibility } = this.#parts;
    return visibility?.placed(path, ledger.units.unit(path)?.owner ?? null) ?? null;
  }

  /** Returns a function that names units for people, by the current roots. */
  unitNames(): (unit: Pick<UnitRecord, 'kind' | 'name'>) => string {
    const roots = this.scanner.places().map(({ path }) => path);
    return unit => unitName(unit, roots, unit.kind === 'walked' ? this.placed(unit.name) : null);
  }

  /** Records a unit in the ledger. `before`: its last record. */
  #take(walked: WalkedRecord, before: UnitRecord | undefined): void {
    const { owner, path, bytes } = walked;
    const from = before?.owner ?? null;
    const placed = owner === from ? null : this.placed(path);
    this.#parts.ledger.walks.record(walked);
    if (placed?.isInherited !== true || from === null || owner === null) return;
    const repository = this.unitNames()({ kind: 'walked', name: path });
    this.#parts.inherited({ owner, from, repository, bytes });
  }

  #attributed(path: string, found: Attribution): Attribution {
    const { ledger, visibility } = this.#parts;
    return attributed(path, found, ledger.units.unit(path), this.#config.storages, visibility);
  }

  #startSchedule(): Schedule {
    return startSchedule(this.#config.scan.schedule, kind => {
      this.scanner.sweepUnlessCovered(kind);
      this.#parts.sweepDue();
    });
  }

  #record(measurement: Measurement): void {
    if ('gone' in measurement) {
      this.#parts.ledger.walks.recordGone(measurement.gone, measurement.seq);
      this.pushes.forget(measurement.gone);
      return;
    }
    const { unit, files, partial, measuredAt, seq } = measurement;
    const { path } = unit;
    // Another host may have got the path to walk in the meantime.
    if (isElsewhere(path, this.scanner.places())) return;
    const bytes = Math.min(measurement.bytes + this.pushes.bytesOf(path), Number.MAX_SAFE_INTEGER);
    const found = this.#attributed(path, unit);
    const before = this.#parts.ledger.units.unit(path);
    this.#take({ path, ...found, bytes, files, partial, measuredAt, seq }, before);
    // Without `objects` the walk has read nothing of the repository.
    if (isRepository(found.leaf) && measurement.objects !== null) {
      if (before === undefined) this.#parts.repositories.appeared(path);
      else if (before.bytes !== bytes) this.#parts.repositories.resized(path);
    }
  }

  /** Removes units that are gone, marks those that could not be checked, and waits until all is stored. */
  async #swept(sweep: Sweep): Promise<void> {
    const places = this.scanner.places();
    const { documents, walks } = this.#parts.ledger;
    const unplaced = new Set<string>();
    await inSlices(this.#parts.ledger.units.walkedBefore(sweep.startSeq), ({ name, owner }) => {
      const isOthers = isElsewhere(name, places);
      const standing = isOthers ? 'gone' : sweep.standing(name);
      // A repository with a push under way was created after the sweep had passed by.
      if (standing === 'gone' && !isOthers && this.pushes.listed(name).length > 0) return;
      if (standing === 'gone') {
        walks.recordGone(name, sweep.startSeq);
        this.pushes.forget(name);
      } else if (standing !== 'seen') walks.recordUnread(name, sweep.startSeq);
      if (standing === 'unplaced' && owner !== null) unplaced.add(documents.owners.keyOf(owner));
    });
    walks.unplaced = unplaced;
    this.rootsAway = sweep.roots.flatMap(({ path, away }) => (away === null ? [] : [{ path, why: away }]));
    this.#rootsUnused = sweep.roots.filter(({ unused }) => unused !== null);
    for (const root of this.rootsAway) {
      this.#parts.log.error(root, 'a storage root is missing; its units keep their last known bytes');
    }
    try {
      if (sweep.acceptMoved) await this.#parts.accepted();
    } finally {
      if (sweep.whole) this.#recordWhole(sweep);
    }
    await this.#parts.ledger.kept();
  }

  #recordWhole({ startedAt, finishedAt, units, roots }: Sweep): void {
    this.#sweptAt = performance.now();
    const present = roots.flatMap(({ path, device, inode, fileSystem, away, unused }) =>
      away === null && unused === null ? [{ path, device, inode, fileSystem }] : [],
    );
    const configured = new Set(roots.map(({ path }) => path));
    const isConfigured = (path: string) => this.#missesKeys || configured.has(path);
    this.#parts.ledger.walks.recordSweep({ startedAt, finishedAt, units }, present, isConfigured);
    this.#missesKeys = this.#parts.missingKeys().length > 0;
    this.#measured.resolve();
  }
}

const none = { first: [], count: 0 };
const noProblems = { unread: none, faults: none, leftovers: none };
