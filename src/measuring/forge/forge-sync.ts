/**
 * Reads the forge's database regularly, and brings changes into the ledger and the accounts.
 *
 * A failure leaves the last known figures in force, and is retried. Nothing waits for a reading: decisions
 * are made from the figures that are known.
 */

import { messageOf, SoftquotaError } from '../../errors.ts';
import {
  type Chunk,
  ForgeFault,
  type ForgeOwner,
  ForgeReader,
  type ForgeSettings,
  forgeLeaves,
  isAmong,
  type LfsObject,
  type OddRows,
  type ReadMode,
  type RepositoryNames,
} from '../../forge/index.ts';
import { given } from '../../given.ts';
import type { ObservedForge } from '../../health/index.ts';
import { forgeSource, type Ledger, type OwnerRename } from '../../ledger/index.ts';
import { leafIndex } from '../../quota/index.ts';
import type { Logger } from '../../service/index.ts';
import { inSlices } from '../../turns.ts';
import { ForgeNames } from './names.ts';
import {
  forgeLinkKind,
  type RefusedOwner,
  removeGone,
  removeLeftBehind,
  syncMembers,
  syncOwners,
} from './owners.ts';
import { ForgeVisibility, isBeside, repositoryNameOf } from './visibility.ts';

interface ForgeSyncOptions {
  readonly settings: ForgeSettings;
  readonly ledger: Pick<Ledger, 'documents' | 'sources' | 'units'>;
  readonly log: Logger;
  /** Milliseconds from now until several full readings were due. */
  fullLateMs(): number;
  /** Called when repositories may have changed visibility or owner: those at paths that `mayHave` accepts. */
  visibilityChanged(mayHave: (path: string) => boolean): void;
  /** Called when the forge has renamed owners and their directories. */
  renamed(renames: readonly OwnerRename[]): void;
  /** Tells whether the figures count here, and on no other host. Null: not known yet. */
  mayCount(): boolean | null;
  /** Milliseconds between two queries for changes; 2000 unless given. */
  readonly pollMs?: number;
}

/** A part of a reading that is about users and organizations. */
type AccountsChunk = Extract<Chunk, { readonly is: 'owners' | 'present' | 'members' }>;

type RestChunk = Extract<Chunk, { readonly is: 'rest' }>;

const usualPollMs = 2000;
const longestRestMs = 60_000;
const leastStaleAfterMs = 3_600_000;
/** Pause after a reading that stored figures, as a multiple of the time that storing took. */
const restAfterPut = 4;
/** Number of owners who may disappear at once; more probably mean another database. */
const fewOwners = 10;
const mostFormerNames = 10_000;
const noOddRows: OddRows = { first: [], count: 0, unowned: 0, unownedBytes: 0 };
/** Each reads more than the one before. */
const modes: readonly ReadMode[] = ['new', 'full', 'anew', 'accepted'];

export class ForgeSync {
  readonly #options: ForgeSyncOptions;
  readonly #reader: ForgeReader;
  #observed: ObservedForge;
  readonly visibility: ForgeVisibility;
  readonly names: ForgeNames;
  #timer: NodeJS.Timeout | null = null;
  #mode: ReadMode = 'anew';
  #failures = 0;
  #putMs = 0;
  #round: Promise<void> = Promise.resolve();
  #isClosed = false;
  #hangs = false;
  readonly #first = Promise.withResolvers<ObservedForge>();
  /** Tells whether the figures count here; null: not known yet, so those that are stored stay. */
  #counts: boolean | null = null;
  /** The ids of all owners in the forge, ascending; null before the first reading. */
  #present: Float64Array | null = null;
  /** Tells whether owners who have left the forge may still have accounts. */
  #mayHaveGone = false;
  /** Number of owners that an administrator accepted as gone, and that remain since they store something. */
  #acceptedGone = 0;
  /** Names of renamed owners under which data may still be found. */
  #formerNames: readonly string[] = [];
  /** By the forge's id. */
  readonly #refused = new Map<number, RefusedOwner>();
  /** Tells whether repositories whose paths name no owner may count for another owner now. */
  #haveNamesChanged = false;

  constructor(options: ForgeSyncOptions) {
    this.#options = options;
    this.#reader = new ForgeReader(options.settings);
    const { kind } = options.settings;
    this.#observed = { kind, fault: null, readAt: null, unowned: [], refused: [], absent: 0, odd: noOddRows };
    this.names = new ForgeNames({
      settings: options.settings,
      ledger: options.ledger,
      reader: this.#reader,
      isAway: () => this.#isClosed || this.#observed.fault !== null,
      take: owners => this.#takeOwners(owners),
      log: options.log,
    });
    this.visibility = new ForgeVisibility(this.#reader, options.ledger.documents);
  }

  start(): void {
    this.#next(0);
  }

  /** Has the next reading read everything. */
  readAll(): void {
    // Refused owners are read again: the one whose name was in the way may be gone.
    this.#atLeast(this.#refused.size === 0 ? 'full' : 'anew');
  }

  /** The largest LFS objects that this repository alone has, by the forge's rows. Throws `not_ready`. */
  async lfsObjects(path: string): Promise<readonly LfsObject[]> {
    // LFS objects belong to the project's own repository.
    if (isBeside(path)) return [];
    try {
      return await this.#reader.lfsObjects(repositoryNameOf(path));
    } catch (error) {
      if (error instanceof ForgeFault) throw new SoftquotaError('not_ready', error.message);
      throw error;
    }
  }

  /** Takes over a reading that is held back because most owners or figures are gone in it. */
  acceptGone(): void {
    const { fault, absent } = this.#observed;
    if (fault?.code !== 'gone' && absent === 0) return;
    this.#atLeast('accepted');
    if (this.#timer === null) return;
    clearTimeout(this.#timer);
    this.#next(0);
  }

  observed(): ObservedForge {
    return this.#observed;
  }

  /** Resolves once the first reading has ended, however it ended; or when this is closed. */
  firstReading(): Promise<ObservedForge> {
    return this.#first.promise;
  }

  /** Number of threads that were left behind by `close`, because a disk never answered them. */
  get hangingThreads(): number {
    return this.#hangs ? 1 : 0;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#hangs = !(await this.#reader.close());
    await this.#round;
    this.#first.resolve(this.observed());
  }

  #next(afterMs: number): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#round = this.#read().then(ms => {
        this.#first.resolve(this.observed());
        this.#next(ms);
      });
    }, afterMs).unref();
  }

  /** Reads once; returns the milliseconds until the next reading. */
  async #read(): Promise<number> {
    const { log, mayCount, pollMs = usualPollMs } = this.#options;
    const counts = mayCount() ?? this.#counts;
    if (counts !== this.#counts) this.#atLeast('anew');
    const mode = this.#mode;
    this.#mode = 'new';
    this.#putMs = 0;
    try {
      // Figures count on another host from now on, whatever comes of the reading.
      const isOver = counts === false && this.#counts !== false;
      if (isOver && this.#options.ledger.sources.report(forgeSource) !== undefined)
        await this.#put(noLines());
      this.#counts = counts;
      const known = mode === 'new' || mode === 'full' ? undefined : await this.#known();
      const rest = await this.#take(this.#reader.read(mode, known));
      this.#failures = 0;
      if (rest !== null) await this.#removeGone(mode === 'accepted');
      if (this.#formerNames.length > 0) await this.#removeLeftBehind();
      if (this.#observed.fault !== null) log.info('the figures of the forge are used again');
      this.#observe({
        fault: null,
        readAt: Date.now(),
        ...given({ unowned: rest?.unowned, odd: rest?.odd }),
      });
      for (const each of rest?.drift ?? [])
        log.warn({ ...each }, 'figures of the forge were other than known, though nothing showed a change');
      return Math.max(pollMs, this.#putMs * restAfterPut);
    } catch (error) {
      if (this.#isClosed) return pollMs;
      const { code, message, mend, cause } = error instanceof ForgeFault ? error : ownFault(error);
      const before = this.#observed.fault;
      this.#observe({ fault: { code, message, mend, since: before?.since ?? Date.now() } });
      if (before?.message !== message) {
        log.error({ code, err: cause }, `the last known figures of the forge are used: ${message}`);
      }
      // Figures that were read and not taken over have to be read again.
      this.#atLeast(mode === 'accepted' ? mode : 'anew');
      this.#failures++;
      return Math.min(longestRestMs, pollMs * 2 ** Math.min(this.#failures - 1, 6));
    }
  }

  #observe(changed: Partial<ObservedForge>): void {
    this.#observed = { ...this.#observed, ...changed };
  }

  #atLeast(mode: ReadMode): void {
    if (modes.indexOf(mode) > modes.indexOf(this.#mode)) this.#mode = mode;
  }

  /** Returns the current figures in the form of `ThreadCalls.read`. */
  async #known(): Promise<Float64Array<ArrayBuffer>> {
    const { documents, sources } = this.#options.ledger;
    const known: number[] = [];
    await inSlices(documents.snapshot.all(forgeLinkKind), ([key, link]) => {
      const owner = documents.owners.byId(link.owner);
      const usage = owner === undefined ? [] : sources.usageOf(forgeSource, owner.name);
      known.push(Number(key), ...forgeLeaves.map(leaf => usage[leafIndex(leaf)] ?? 0));
    });
    return Float64Array.from(known);
  }

  /**
   * Takes over accounts before figures, so that a renamed owner keeps its groups all the time. In the very
   * first reading figures come first: there are no groups to keep, and many accounts take longer.
   */
  async #take(reading: AsyncGenerator<Chunk, void, void>): Promise<RestChunk | null> {
    const [link] = this.#options.ledger.documents.snapshot.all(forgeLinkKind);
    const later: AccountsChunk[] = [];
    let rest: RestChunk | null = null;
    this.names.readingBegins();
    for await (const chunk of reading) {
      if (chunk.is === 'rest') {
        rest = chunk;
        // Lines name their owners, so nobody is renamed until they are stored.
        await this.names.inTurn(() => this.#putLines(reading));
      } else if (chunk.is === 'lines') throw new Error('lines come after the rest');
      else if (chunk.is === 'repositories') this.#takeRepositories(chunk.repositories);
      else if (link === undefined) later.push(chunk);
      else await this.#takeAccounts(chunk);
    }
    this.#observe({ readAt: Date.now() });
    for (const chunk of later.splice(0)) await this.#takeAccounts(chunk);
    if (this.#haveNamesChanged) {
      this.#haveNamesChanged = false;
      this.#options.visibilityChanged(() => true);
    }
    return rest;
  }

  async #takeAccounts(chunk: AccountsChunk): Promise<void> {
    const { documents } = this.#options.ledger;
    switch (chunk.is) {
      case 'owners':
        await this.names.takeRead(chunk.owners);
        break;
      case 'present':
        this.#present = chunk.ids;
        this.#mayHaveGone = true;
        for (const id of this.#refused.keys()) if (!isAmong(chunk.ids, id)) this.#refused.delete(id);
        this.#observe({ refused: [...this.#refused.values()] });
        break;
      case 'members':
        await documents.transactInSlices(transaction => syncMembers(transaction, chunk.members));
    }
  }

  async #takeOwners(owners: readonly ForgeOwner[]): Promise<void> {
    const { ledger, log } = this.#options;
    const { refused, renames } = await ledger.documents.transactInSlices(transaction =>
      syncOwners(transaction, owners),
    );
    this.#haveNamesChanged = this.#options.settings.kind === 'gitlab';
    ledger.sources.move(forgeSource, renames);
    this.#options.renamed(renames);
    const formerNames = renames.map(({ from }) => from);
    this.#formerNames = [...this.#formerNames, ...formerNames].slice(-mostFormerNames);
    for (const { id } of owners) this.#refused.delete(id);
    for (const each of refused) {
      this.#refused.set(each.id, each);
      log.warn({ ...each }, 'an owner of the forge cannot be taken over');
    }
    this.#observe({ refused: [...this.#refused.values()] });
  }

  #takeRepositories(repositories: RepositoryNames): void {
    this.visibility.take(repositories);
    const changed = repositories.changed === null ? null : new Set(repositories.changed);
    this.#options.visibilityChanged(path => changed?.has(repositoryNameOf(path)) ?? true);
  }

  async #putLines(reading: AsyncGenerator<Chunk, void, void>): Promise<void> {
    const { value: first } = await reading.next();
    if (first?.is !== 'lines') return;
    const lines = linesOf(first.bytes, reading);
    if (this.#counts === true) await this.#put(lines);
    else {
      for await (const _ of lines);
      if (this.#counts === false) await this.#put(noLines());
    }
  }

  async #put(lines: AsyncIterable<Uint8Array>): Promise<void> {
    const start = performance.now();
    const staleAfterMs = Math.max(leastStaleAfterMs, this.#options.fullLateMs());
    await this.#options.ledger.sources.put(forgeSource, staleAfterMs, lines);
    this.#putMs = performance.now() - start;
  }

  async #removeLeftBehind(): Promise<void> {
    const { documents, units } = this.#options.ledger;
    const { owners } = documents;
    const names = this.#formerNames.filter(name => owners.named(name) !== undefined);
    if (names.length > 0 && names.every(name => units.unitCountOf(owners.keyOf(name)) > 0)) return;
    this.#formerNames = await documents.transact(transaction =>
      removeLeftBehind(transaction, names, ({ key }) => units.unitCountOf(key) > 0),
    );
  }

  async #removeGone(isAccepted: boolean): Promise<void> {
    const present = this.#present;
    if (present === null || !this.#mayHaveGone) return;
    const { documents, units } = this.#options.ledger;
    const gone: number[] = [];
    let known = 0;
    await inSlices(documents.snapshot.all(forgeLinkKind), ([key]) => {
      known++;
      if (!isAmong(present, Number(key))) gone.push(Number(key));
    });
    const tooMany = !isAccepted && gone.length > Math.max(fewOwners, known / 2, this.#acceptedGone);
    this.#observe({ absent: tooMany ? gone.length : 0 });
    const removed =
      gone.length === 0 || tooMany
        ? 0
        : await documents.transactInSlices(transaction =>
            removeGone(transaction, gone, ({ key }) => units.unitCountOf(key) > 0),
          );
    this.#mayHaveGone = removed < gone.length;
    if (isAccepted) this.#acceptedGone = gone.length - removed;
  }
}

/** Yields the first lines and those that follow in the reading, which has nothing else left. */
async function* linesOf(
  first: Uint8Array,
  reading: AsyncGenerator<Chunk, void, void>,
): AsyncGenerator<Uint8Array> {
  yield first;
  for await (const chunk of reading) if (chunk.is === 'lines') yield chunk.bytes;
}

async function* noLines(): AsyncGenerator<Uint8Array> {}

/** Reports a failure of softquota's own store. */
function ownFault(error: unknown): ForgeFault {
  return new ForgeFault(
    'unreachable',
    `its figures cannot be taken over: ${messageOf(error)}`,
    'see the other findings and the log; it is tried again by itself',
    { cause: error },
  );
}
