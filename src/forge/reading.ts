/** Reads a forge's database part by part, and keeps the result up to date. */

import { isDeepStrictEqual } from 'node:util';
import type { ForgeDatabase } from './database.ts';
import type { ForgeSchema, RowOwners } from './forge-schema.ts';
import type { Chunk, FigureDrift, RepositoryNames } from './messages.ts';
import { isAmong, ownerIdIn, placeOwnerColumns, repositoryHash } from './names.ts';
import { OwnerRows } from './owner-rows.ts';
import type { ForgeOwner } from './picture.ts';
import type { PartSums } from './sums.ts';

/** Number of changed names that are handled one by one, at most. */
const mostChangedNames = 10_000;
/** Each commit of fewer owners would write the same pages of the store again. */
const ownersAtOnce = 1000;

/** Changes that a reading found. */
export interface News {
  /** Those of accounts and repositories. */
  readonly chunks: Chunk[];
  /** Tells whether owners came or went, or have another name. */
  haveNamesChanged: boolean;
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
  readonly owners = new OwnerRows();
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
    const news: News = { chunks: [], haveNamesChanged: false, drift: [], tookMs };
    const timed = async <T>(part: string, act: () => Promise<T>): Promise<T> => {
      const start = performance.now();
      const result = await act();
      tookMs.set(part, performance.now() - start);
      return result;
    };
    if (parts.has(accountsPart)) await timed(accountsPart, () => this.#readAccounts(db, news));
    const haveOwnersMoved =
      parts.has(repositoriesPart) && (await timed(repositoriesPart, () => this.#readRepositories(db, news)));
    const whose: RowOwners = { owners: this.owners, repositories: this.repositories };
    for (const [part, { isByRepository, count }] of Object.entries(this.#schema.byteParts)) {
      if (!parts.has(part) && !(haveOwnersMoved && isByRepository)) continue;
      const sums = await timed(part, () => count(db, whose));
      const before = this.sums.get(part);
      if (before !== undefined && trusted.has(part) && !haveOwnersMoved) {
        news.drift.push(...driftOf(before, sums, whose.owners.size));
      }
      this.sums.set(part, sums);
    }
    return news;
  }

  async #readAccounts(db: ForgeDatabase, news: News): Promise<void> {
    const changed: ForgeOwner[] = [];
    this.owners.begin();
    await this.#schema.eachOwner(db, owner => {
      if (this.owners.put(owner)) changed.push(owner);
    });
    for (let start = 0; start < changed.length; start += ownersAtOnce) {
      news.chunks.push({ is: 'owners', owners: changed.slice(start, start + ownersAtOnce) });
    }
    const { hasPresenceChanged } = this.owners;
    if (hasPresenceChanged) news.chunks.push({ is: 'present', ids: this.owners.presentIds() });
    news.haveNamesChanged = changed.length > 0 || hasPresenceChanged;
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
}

function driftOf(before: PartSums, after: PartSums, owners: number): readonly FigureDrift[] {
  return after.leaves.flatMap(leaf => {
    let [count, bytes] = [0, 0];
    for (let row = 0; row < owners; row++) {
      const difference = Math.abs(after.of(leaf, row) - before.of(leaf, row));
      if (difference === 0) continue;
      count++;
      bytes += difference;
    }
    return count === 0 ? [] : [{ leaf, owners: count, bytes }];
  });
}
