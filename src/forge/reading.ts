/**
 * Reads a forge's database in parts, and keeps the result up to date.
 *
 * A part is read again when the marks of its tables change. A fast part is read at once; a slow one rests for
 * several times its duration, and longer if only the mark of the whole database has changed, which any
 * sign-in does.
 */

import { isDeepStrictEqual } from 'node:util';
import { type ForgeDatabase, ForgeFault } from './database.ts';
import type { ForgeSchema, PartSums } from './forge-schema.ts';
import type { RowSum, RowSums } from './loss-guard.ts';
import {
  type Chunk,
  type Claim,
  claimsIn,
  type FigureDrift,
  type ForgeLeaf,
  type ForgeOwner,
  forgeLeaves,
  isAmong,
  placeColumns,
  type RepositoryNames,
  repositoryHash,
  unitNames,
} from './messages.ts';
import { RowJudge } from './odd-rows.ts';
import { tableNames } from './open.ts';

/** Limit of the changed names that are handled one by one. */
const mostChangedNames = 10_000;
/** With fewer owners in a commit, the same pages of the store would be written more often. */
const ownersAtOnce = 1000;
const chunkCharacters = 64 * 1024;

interface News {
  /** Changes of accounts and repositories. */
  readonly chunks: Chunk[];
  /** True if owners came, went, or changed their names or figures. */
  haveLinesChanged: boolean;
  readonly drift: FigureDrift[];
}

/** Parts without bytes. */
const accountsPart = 'accounts';
const repositoriesPart = 'repositories';

export class ForgeReading {
  readonly #schema: ForgeSchema;
  readonly #tables: Readonly<Record<string, readonly string[]>>;
  readonly #last = new Map<string, LastRead>();
  readonly #seed: string;
  readonly #judge: RowJudge;
  /** Owners that were read separately since the last reading of accounts. */
  readonly #lookedUp = new Map<number, ForgeOwner>();
  /**
   * Parts with bytes that were counted while changed accounts or repositories rested, and which of these two
   * were not read since.
   */
  readonly #countedEarly = new Map<string, readonly string[]>();
  #owesLines = false;
  /** Valid owners by their ids, as last reported. */
  owners = new Map<number, ForgeOwner>();
  repositories = new Map<number, number>();
  #names: Omit<RepositoryNames, 'changed'> | null = null;
  #membersText = '';
  readonly sums = new Map<string, PartSums>();

  /** `judge` remembers the rows of earlier readings. */
  constructor(schema: ForgeSchema, seed: string, judge = new RowJudge()) {
    this.#judge = judge;
    this.#schema = schema;
    this.#tables = {
      [accountsPart]: schema.accountTables,
      [repositoriesPart]: schema.repositoryTables,
      ...Object.fromEntries(Object.entries(schema.byteParts).map(([part, { tables }]) => [part, tables])),
    };
    this.#seed = seed;
  }

  /** Uses an owner's row that was read separately: all lines have this name from now on. */
  lookedUp(owner: ForgeOwner): void {
    this.#lookedUp.set(owner.id, owner);
    const known = this.owners.get(owner.id);
    if (known === undefined || known.name === owner.name) return;
    this.owners.set(owner.id, owner);
    this.#owesLines = true;
  }

  /** Makes all parts due: the marks of another connection may have another meaning. */
  reconnected(): void {
    this.#last.clear();
  }

  /**
   * Reads the parts that are due, or all. Returns null if none is. Throws a `ForgeFault` if there are no
   * owners.
   */
  async read(db: ForgeDatabase, isFull: boolean): Promise<News | null> {
    db.judge = this.#judge;
    const marks = await db.marks(tableNames(this.#schema.needed));
    const states = new Map(
      Object.entries(this.#tables).map(([part, tables]) => {
        const own = tables.map(table => marks.tables.get(table) ?? '').join(' ');
        const state = stateOfPart(this.#last.get(part), own, marks.whole, performance.now());
        return [part, { own, state }];
      }),
    );
    const isWanted = (part: string): boolean => isFull || states.get(part)?.state === 'due';
    if (![...states.keys()].some(isWanted)) return null;
    const tookMs = new Map<string, number>();
    const isTrusted = (part: string): boolean => states.get(part)?.state === 'unchanged';
    const news = await db.consistently(() => this.#readParts(db, isWanted, isTrusted, tookMs));
    if (this.owners.size === 0) throw noOwners();
    const endedAt = performance.now();
    for (const [part, took] of tookMs) {
      const own = states.get(part)?.own ?? '';
      this.#last.set(part, { own, whole: marks.whole, endedAt, tookMs: took });
    }
    return news;
  }

  /** `isTrusted` is true for a part without changed marks; a difference in it is drift. */
  async #readParts(
    db: ForgeDatabase,
    isWanted: (part: string) => boolean,
    isTrusted: (part: string) => boolean,
    tookMs: Map<string, number>,
  ): Promise<News> {
    const news: News = { chunks: [], haveLinesChanged: false, drift: [] };
    const timed = async <T>(part: string, act: () => Promise<T>): Promise<T> => {
      const start = performance.now();
      this.#judge.begin(part);
      const result = await act();
      tookMs.set(part, performance.now() - start);
      return result;
    };
    if (isWanted(accountsPart)) await timed(accountsPart, () => this.#readAccounts(db, news));
    const haveOwnersMoved =
      isWanted(repositoriesPart) && (await timed(repositoriesPart, () => this.#readRepositories(db, news)));
    const resting = [accountsPart, repositoriesPart].filter(part => !isWanted(part) && !isTrusted(part));
    for (const [part, unread] of this.#countedEarly) {
      this.#countedEarly.set(
        part,
        unread.filter(each => resting.includes(each)),
      );
    }
    for (const [part, { isByRepository, count }] of Object.entries(this.#schema.byteParts)) {
      const unread = this.#countedEarly.get(part);
      // A part that has changed meanwhile is due after its rest in any case.
      const isOwed = unread?.length === 0 && isTrusted(part);
      const isOutdated = isOwed || (haveOwnersMoved && isByRepository);
      if (!isWanted(part) && !isOutdated) continue;
      const sums = await timed(part, () => count(db, this));
      const before = this.sums.get(part);
      const differences = before === undefined ? [] : sums.since(before);
      if (before === undefined || differences.length > 0) news.haveLinesChanged = true;
      if (isTrusted(part) && !haveOwnersMoved && unread === undefined) news.drift.push(...differences);
      this.sums.set(part, sums);
      // The rows of an owed part have not changed, so all that they belong to is read.
      if (resting.length === 0 || (isOwed && !haveOwnersMoved)) this.#countedEarly.delete(part);
      else this.#countedEarly.set(part, resting);
    }
    return news;
  }

  async #readAccounts(db: ForgeDatabase, news: News): Promise<void> {
    const changed: ForgeOwner[] = [];
    const [before, after] = [this.owners, new Map<number, ForgeOwner>()];
    const ids: number[] = [];
    this.#lookedUp.clear();
    await this.#schema.eachOwner(db, each => {
      ids.push(each.id);
      const owner = this.#judge.owner(each);
      if (owner === null) return;
      after.set(owner.id, owner);
      if (!isDeepStrictEqual(before.get(owner.id), owner)) changed.push(owner);
    });
    for (const owner of this.#lookedUp.values()) if (after.has(owner.id)) after.set(owner.id, owner);
    this.owners = after;
    this.#judge.rememberOwners(after);
    for (let start = 0; start < changed.length; start += ownersAtOnce) {
      news.chunks.push({ is: 'owners', owners: changed.slice(start, start + ownersAtOnce) });
    }
    const haveOthersCome = changed.some(({ id }) => !before.has(id));
    const havePresentChanged = haveOthersCome || after.size < before.size;
    if (havePresentChanged) news.chunks.push({ is: 'present', ids: Float64Array.from(ids).sort() });
    news.haveLinesChanged = changed.length > 0 || havePresentChanged || this.#owesLines;
    this.#owesLines = false;
    const members = await this.#schema.members(db);
    const text = JSON.stringify(members);
    if (text !== this.#membersText) news.chunks.push({ is: 'members', members });
    this.#membersText = text;
  }

  /** Returns true if a repository was deleted or has another owner. */
  async #readRepositories(db: ForgeDatabase, news: News): Promise<boolean> {
    const before = this.repositories;
    const after = new Map<number, number>();
    const publicOnes: number[] = [];
    const [hashes, claims]: [number[], Claim[]] = [[], []];
    const known = this.#names;
    const changed: string[] = [];
    let kept = 0;
    const place = (hash: number, found: readonly Claim[]): boolean => {
      for (const claim of found) {
        hashes.push(hash);
        claims.push(claim);
      }
      return known?.places != null && !isDeepStrictEqual(claimsIn(known.places, hash), found);
    };
    await this.#schema.eachRepository(db, this.owners, repository => {
      const { id, name } = repository;
      const isPlaced = 'claims' in repository;
      const ownerId = isPlaced ? repository.claims[0]?.ownerId : repository.ownerId;
      if (id !== null && typeof ownerId === 'number') {
        after.set(id, ownerId);
        if (before.get(id) === ownerId) kept++;
      }
      if (!this.#judge.isName(name, id)) return;
      const hash = repositoryHash(this.#seed, name);
      const isPublic = !isPlaced && repository.isPublic;
      if (isPublic) publicOnes.push(hash);
      const hasMoved = isPlaced && place(hash, repository.claims);
      if (known === null || changed.length > mostChangedNames) return;
      if (hasMoved || isAmong(known.publicHashes, hash) !== isPublic) changed.push(name);
    });
    const names = {
      publicHashes: Float64Array.from(publicOnes).sort(),
      places: this.#schema.tellsOwners ? placeColumns(hashes, claims) : null,
    };
    if (!isDeepStrictEqual(known, names)) {
      const areFew = known !== null && changed.length <= mostChangedNames;
      const repositories = { ...names, changed: areFew ? changed : null };
      news.chunks.push({ is: 'repositories', repositories });
    }
    this.#names = names;
    this.repositories = after;
    return kept < before.size;
  }

  rowSums(): RowSums {
    const repositories = new Map<number, RowSum>();
    for (const id of this.repositories.values()) {
      repositories.set(id, { rows: (repositories.get(id)?.rows ?? 0) + 1, bytes: 0 });
    }
    return new Map([
      ['repositories', repositories],
      ...[...this.sums.values()].flatMap(({ all }) => [...all]),
    ]);
  }

  *lines(): Generator<Chunk, void> {
    let text = '';
    for (const { id, name } of this.owners.values()) {
      for (const subject of forgeLeaves) {
        const bytes = this.#bytesOf(subject, id);
        if (bytes === 0) continue;
        text += `${JSON.stringify({ owner: name, subject, unit: unitNames[subject], bytes })}\n`;
      }
      if (text.length < chunkCharacters) continue;
      yield { is: 'lines', bytes: new TextEncoder().encode(text) };
      text = '';
    }
    yield { is: 'lines', bytes: new TextEncoder().encode(text) };
  }

  #bytesOf(leaf: ForgeLeaf, ownerId: number): number {
    return [...this.sums.values()].reduce((sum, part) => sum + part.of(leaf, ownerId), 0);
  }
}

/** Rest of a part as a multiple of its duration, after a change of its tables. */
const restAfterChange = 5;
const restOtherwise = 50;
/** Milliseconds up to which a part needs no rest. */
const cheapMs = 200;

interface LastRead {
  readonly own: string;
  readonly whole: string | null;
  readonly endedAt: number;
  readonly tookMs: number;
}

/** Decides if a part is read. `own` has the current marks of its tables, `whole` the mark of the database. */
export function stateOfPart(
  last: LastRead | undefined,
  own: string,
  whole: string | null,
  now: number,
): 'due' | 'resting' | 'unchanged' {
  if (last === undefined) return 'due';
  if (last.own === own && last.whole === whole) return 'unchanged';
  const factor = last.own === own ? restOtherwise : restAfterChange;
  const restMs = last.tookMs <= cheapMs ? 0 : last.tookMs * factor;
  return now - last.endedAt >= restMs ? 'due' : 'resting';
}

/**
 * Makes the fault for a database without users: a forge in use has an administrator, so this is another
 * database, or one that is being restored.
 */
function noOwners(): ForgeFault {
  return new ForgeFault(
    'schema',
    'the database has no users, so its figures are not used',
    'if it is being restored, wait; else correct [forge] DATABASE',
  );
}
