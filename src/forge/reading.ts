/**
 * Reads a forge's database part by part, and keeps the result up to date.
 *
 * A part is read again by the marks of its tables: at once after a change if that is cheap. One that takes
 * long rests for several times as long as it took, and longer if only the mark of the whole database has
 * changed, which any sign-in does.
 */

import { isDeepStrictEqual } from 'node:util';
import type { ChangeMarks, ForgeDatabase } from './database.ts';
import type { ForgeSchema, PartSums } from './forge-schema.ts';
import {
  type Chunk,
  type FigureDrift,
  type ForgeLeaf,
  type ForgeOwner,
  forgeLeaves,
  isAmong,
  ownerIdIn,
  placeOwnerColumns,
  type RepositoryNames,
  repositoryHash,
  unitNames,
} from './messages.ts';

/** Number of changed names that are handled one by one, at most. */
const mostChangedNames = 10_000;
/** Each commit of fewer owners would write the same pages of the store again. */
const ownersAtOnce = 1000;
const chunkCharacters = 64 * 1024;

export interface News {
  /** Those of accounts and repositories. */
  readonly chunks: Chunk[];
  /** Tells whether owners came or went, or have another name, or have other figures. */
  haveLinesChanged: boolean;
  readonly drift: FigureDrift[];
  /** The parts that were read, and how many milliseconds each took. */
  readonly tookMs: Map<string, number>;
}

/** The parts that have no bytes. */
export const accountsPart = 'accounts';
export const repositoriesPart = 'repositories';

export class ForgeReading {
  readonly #schema: ForgeSchema;
  readonly #seed: string;
  /** Those who are there, by their ids, as they were told. */
  owners = new Map<number, ForgeOwner>();
  /** Ids of owners by the ids of repositories. */
  repositories = new Map<number, number>();
  #names: Omit<RepositoryNames, 'changed'> | null = null;
  #membersText = '';
  /** By part. */
  readonly sums = new Map<string, PartSums>();

  constructor(schema: ForgeSchema, seed: string) {
    this.#schema = schema;
    this.#seed = seed;
  }

  /**
   * Reads these parts. `trusted` are those of which no mark said that they changed: what is other there is
   * drift.
   */
  async read(db: ForgeDatabase, parts: ReadonlySet<string>, trusted: ReadonlySet<string>): Promise<News> {
    const tookMs = new Map<string, number>();
    const news: News = { chunks: [], haveLinesChanged: false, drift: [], tookMs };
    const timed = async <T>(part: string, act: () => Promise<T>): Promise<T> => {
      const start = performance.now();
      const result = await act();
      tookMs.set(part, performance.now() - start);
      return result;
    };
    if (parts.has(accountsPart)) await timed(accountsPart, () => this.#readAccounts(db, news));
    const haveOwnersMoved =
      parts.has(repositoriesPart) && (await timed(repositoriesPart, () => this.#readRepositories(db, news)));
    for (const [part, { isByRepository, count }] of Object.entries(this.#schema.byteParts)) {
      if (!parts.has(part) && !(haveOwnersMoved && isByRepository)) continue;
      const sums = await timed(part, () => count(db, this));
      const before = this.sums.get(part);
      const differences = before === undefined ? [] : sums.since(before);
      if (before === undefined || differences.length > 0) news.haveLinesChanged = true;
      if (trusted.has(part) && !haveOwnersMoved) news.drift.push(...differences);
      this.sums.set(part, sums);
    }
    return news;
  }

  async #readAccounts(db: ForgeDatabase, news: News): Promise<void> {
    const changed: ForgeOwner[] = [];
    const [before, after] = [this.owners, new Map<number, ForgeOwner>()];
    await this.#schema.eachOwner(db, owner => {
      after.set(owner.id, owner);
      if (!isDeepStrictEqual(before.get(owner.id), owner)) changed.push(owner);
    });
    this.owners = after;
    for (let start = 0; start < changed.length; start += ownersAtOnce) {
      news.chunks.push({ is: 'owners', owners: changed.slice(start, start + ownersAtOnce) });
    }
    const haveOthersCome = changed.some(({ id }) => !before.has(id));
    const havePresentChanged = haveOthersCome || after.size < before.size;
    if (havePresentChanged) news.chunks.push({ is: 'present', ids: Float64Array.from(after.keys()).sort() });
    news.haveLinesChanged = changed.length > 0 || havePresentChanged;
    const members = await this.#schema.members(db);
    const text = JSON.stringify(members);
    if (text !== this.#membersText) news.chunks.push({ is: 'members', members });
    this.#membersText = text;
  }

  /** True: a repository went, or belongs to somebody else. */
  async #readRepositories(db: ForgeDatabase, news: News): Promise<boolean> {
    const before = this.repositories;
    const after = new Map<number, number>();
    const publicOnes: number[] = [];
    const [hashes, ownerIds]: [number[], number[]] = [[], []];
    const known = this.#names;
    const { tellsOwners } = this.#schema;
    const changed: string[] = [];
    let kept = 0;
    await this.#schema.eachRepository(db, this.owners, ({ id, ownerId, name, isPublic }) => {
      if (id !== null) {
        after.set(id, ownerId);
        if (before.get(id) === ownerId) kept++;
      }
      const hash = repositoryHash(this.#seed, name);
      if (isPublic) publicOnes.push(hash);
      if (tellsOwners) {
        hashes.push(hash);
        ownerIds.push(ownerId);
      }
      if (known === null || changed.length > mostChangedNames) return;
      const hasMoved = known.owners !== null && ownerIdIn(known.owners, hash) !== ownerId;
      if (hasMoved || isAmong(known.publicHashes, hash) !== isPublic) changed.push(name);
    });
    const names = {
      publicHashes: Float64Array.from(publicOnes).sort(),
      owners: tellsOwners ? placeOwnerColumns(hashes, ownerIds) : null,
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

  /** Everybody's figures as JSON. */
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

/** Rest of a part, as a multiple of its duration, if one of its tables changed, or something somewhere. */
const restAfterChange = 5;
const restOtherwise = 50;
/** Duration up to which a part is read at once. */
const cheapMs = 200;

interface LastRead {
  readonly own: string;
  readonly whole: string | null;
  readonly endedAt: number;
  readonly tookMs: number;
}

interface Due {
  /** To be read now. */
  readonly parts: ReadonlySet<string>;
  /** Those of all parts whose marks are the same as when they were read. */
  readonly unchanged: ReadonlySet<string>;
}

export class DueParts {
  readonly #tables: Readonly<Record<string, readonly string[]>>;
  readonly #now: () => number;
  readonly #last = new Map<string, LastRead>();

  constructor(tables: Readonly<Record<string, readonly string[]>>, now: () => number) {
    this.#tables = tables;
    this.#now = now;
  }

  due(marks: ChangeMarks, full: boolean): Due {
    const parts = new Set<string>();
    const unchanged = new Set<string>();
    for (const part of Object.keys(this.#tables)) {
      const last = this.#last.get(part);
      const changed = last === undefined || last.own !== this.#markOf(part, marks);
      const mayHaveChanged = changed || last.whole !== marks.whole;
      if (!mayHaveChanged) unchanged.add(part);
      const factor = changed ? restAfterChange : restOtherwise;
      const rest = last === undefined || last.tookMs <= cheapMs ? 0 : last.tookMs * factor;
      const isRested = last === undefined || this.#now() - last.endedAt >= rest;
      if (full || (mayHaveChanged && isRested)) parts.add(part);
    }
    return { parts, unchanged };
  }

  /** Parts were read in so many milliseconds, after these marks were taken. */
  read(parts: ReadonlyMap<string, number>, marks: ChangeMarks): void {
    const endedAt = this.#now();
    for (const [part, tookMs] of parts) {
      this.#last.set(part, { own: this.#markOf(part, marks), whole: marks.whole, endedAt, tookMs });
    }
  }

  #markOf(part: string, { tables }: ChangeMarks): string {
    return (this.#tables[part] ?? []).map(table => tables.get(table) ?? '').join(' ');
  }
}
