/**
 * Free space on the disks: finds out which of them have too little left for anything to grow.
 *
 * Each disk is checked every second, and ten times a second while one has less than twice MIN_FREE. Bytes of
 * pushes that were allowed since the last check are subtracted. A disk that does not answer keeps its last
 * state. A full disk stays full until 5 % more than MIN_FREE is free, so that its state does not flap.
 */

import type { Config } from '../config/index.ts';
import { isWithin } from '../layout/index.ts';
import type { Log } from '../log.ts';
import {
  type FullDisk,
  fullDiskWords,
  isLeaf,
  isRepository,
  leafMask,
  type Subject,
} from '../quota/index.ts';
import type { WatchedDisk } from '../scan/index.ts';
import { printable } from '../text.ts';

type Settings = Config['disk'];

interface FreeSpaceOptions {
  readonly settings: Settings;
  disks(deadlineMs: number): Promise<readonly WatchedDisk[]>;
  /** The directory in which the objects of the repository at a path lie. */
  objectsOf(path: string): string;
  readonly log: Pick<Log, 'error' | 'info' | 'warn'>;
  /** Called when a disk has become full, or is no longer full. */
  onFullChanged(): void;
}

/** A disk with less free space than twice MIN_FREE. */
interface ShortDisk {
  readonly path: string;
  /** `full`: below MIN_FREE; `low`: below twice that. */
  readonly state: 'full' | 'low';
  readonly disk: FullDisk;
}

const everyMs = 1000;
const nearMs = 100;
const deadlineMs = 2000;
/** Factor of the wanted free space at which a disk stops being full or low. */
const margin = 1.05;

interface Seen {
  /** The last answer of the disk; the sizes are null if it has never answered. */
  readonly disk: WatchedDisk;
  /** Bytes of pushes that were allowed since that answer. */
  readonly takenBytes: number;
  readonly short: ShortDisk | null;
  /** `short` at the last look, without the bytes that were subtracted since. */
  readonly looked: ShortDisk | null;
}

export class FreeSpace {
  readonly #options: FreeSpaceOptions;
  #settings: Settings;
  #disks: readonly Seen[] = [];
  #looking: Promise<void> | null = null;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: FreeSpaceOptions) {
    this.#options = options;
    this.#settings = options.settings;
  }

  reconfigure(settings: Settings): void {
    this.#settings = settings;
    void this.look();
  }

  /**
   * Returns the full disk on which this kind of data would grow in a unit; null if there is enough space.
   * Without a path, all disks with such data must be full.
   */
  fullFor(path: string | null, subject: Subject): FullDisk | null {
    if (this.#settings.minFree === null) return null;
    const isOfObjects = !isLeaf(subject) || isRepository(subject);
    const place = path === null || !isOfObjects ? path : this.#options.objectsOf(path);
    const disks = place === null ? this.#withLeaves(leafMask(subject)) : this.#diskOf(place);
    const full = disks.flatMap(({ short }) => (short?.state === 'full' ? [short.disk] : []));
    return full.length === disks.length ? (full[0] ?? null) : null;
  }

  get short(): readonly ShortDisk[] {
    return this.#disks.flatMap(({ short }) => short ?? []);
  }

  /** Checks all disks now, and regularly from now on. Never rejects. */
  look(): Promise<void> {
    if (this.#settings.minFree === null) {
      const hadFull = this.short.some(({ state }) => state === 'full');
      this.#disks = [];
      if (hadFull) this.#options.onFullChanged();
      return Promise.resolve();
    }
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null;
      clearTimeout(this.#timer);
      if (this.#isClosed) return;
      this.#timer = setTimeout(() => void this.look(), this.short.length > 0 ? nearMs : everyMs).unref();
    });
    return this.#looking;
  }

  /** Subtracts the bytes of a push that was allowed into this unit, until the next check sees them. */
  took(path: string, bytes: number): void {
    const [on] = this.#diskOf(this.#options.objectsOf(path));
    if (on === undefined) return;
    const taken = this.#seen(on, on.disk, on.takenBytes + bytes, on.looked);
    this.#put(this.#disks.map(each => (each === on ? taken : each)));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#looking;
  }

  async #look(): Promise<void> {
    const takenBefore = new Map(this.#disks.map(({ disk, takenBytes }) => [disk.path, takenBytes]));
    const found = await this.#options.disks(deadlineMs);
    const known = new Map(this.#disks.map(seen => [seen.disk.path, seen]));
    this.#put(
      found.map(disk => {
        const before = known.get(disk.path);
        if (disk.sizeBytes === null) return before ?? { disk, takenBytes: 0, short: null, looked: null };
        const takenBytes = (before?.takenBytes ?? 0) - (takenBefore.get(disk.path) ?? 0);
        const seen = this.#seen(before, disk, takenBytes, before?.looked ?? null);
        return { ...seen, looked: seen.short };
      }),
    );
  }

  #put(disks: readonly Seen[]): void {
    const fullBefore = this.#fullPaths;
    this.#disks = disks;
    if (this.#fullPaths !== fullBefore) this.#options.onFullChanged();
  }

  get #fullPaths(): string {
    const full = this.#disks.filter(({ short }) => short?.state === 'full');
    return JSON.stringify(full.map(({ disk }) => disk.path));
  }

  #seen(before: Seen | undefined, disk: WatchedDisk, takenBytes: number, looked: ShortDisk | null): Seen {
    const freeBytes = disk.freeBytes && Math.max(0, disk.freeBytes - takenBytes);
    const short = this.#standingOf({ ...disk, freeBytes }, looked);
    if (short?.state !== before?.short?.state) this.#tell(disk.path, short);
    return { disk, takenBytes, short, looked };
  }

  #standingOf(disk: WatchedDisk, before: ShortDisk | null): ShortDisk | null {
    const { minFree } = this.#settings;
    if (minFree === null || disk.sizeBytes === null) return null;
    const { path } = disk;
    const full = shortage(disk, minFree, 1, before?.state === 'full');
    if (full !== null) return { path, state: 'full', disk: full };
    const low = shortage(disk, minFree, 2, before !== null);
    return low && { path, state: 'low', disk: low };
  }

  #tell(path: string, short: ShortDisk | null): void {
    const { log } = this.#options;
    const where = printable(path);
    if (short === null) log.info({ path }, `enough is free again at ${where}`);
    else if (short.state === 'low') log.warn({ path }, `${where}: ${fullDiskWords(short.disk)}`);
    else log.error({ path }, `${where}: ${fullDiskWords(short.disk)}; what grows there is refused`);
  }

  #withLeaves(mask: number): readonly Seen[] {
    return this.#disks.filter(({ disk }) => disk.leaves.some(leaf => (mask & leafMask(leaf)) !== 0));
  }

  /** Returns the disk whose root is nearest above the path; an empty list if none is. */
  #diskOf(path: string): readonly Seen[] {
    const above = this.#disks.flatMap(seen =>
      seen.disk.roots.filter(root => isWithin(path, root)).map(root => ({ seen, root })),
    );
    const [nearest] = above.sort((a, b) => b.root.length - a.root.length);
    return nearest === undefined ? [] : [nearest.seen];
  }
}

/**
 * Returns null if `times` the wanted space is free. A percentage applies to files, too, a size only to bytes.
 */
function shortage(
  { sizeBytes, freeBytes, sizeFiles, freeFiles }: WatchedDisk,
  wanted: NonNullable<Settings['minFree']>,
  times: number,
  wasShort: boolean,
): FullDisk | null {
  const factor = wasShort ? margin : 1;
  const least = times * ('percent' in wanted ? ((sizeBytes ?? 0) * wanted.percent) / 100 : wanted.bytes);
  if (freeBytes !== null && sizeBytes !== null && freeBytes < least * factor)
    return { of: 'bytes', free: freeBytes, size: sizeBytes, least: Math.ceil(least) };
  // Some file systems create inodes as needed, and report a total of 0.
  if (!('percent' in wanted) || sizeFiles === null || freeFiles === null || sizeFiles === 0) return null;
  const files = (times * sizeFiles * wanted.percent) / 100;
  if (freeFiles >= files * factor) return null;
  return { of: 'files', free: freeFiles, size: sizeFiles, least: Math.ceil(files) };
}
