/** What is known of a Gitea's or Forgejo's database, part by part, and brought up to date. */

import type { ForgeDatabase } from '../database.ts';
import { IdTable } from '../id-table.ts';
import type { FigureDrift, RepositoryNames } from '../messages.ts';
import { isAmong, repositoryHash } from '../names.ts';
import { OwnerRows } from '../owner-rows.ts';
import { eachRow, flagAt, numberAt, textAt } from '../pages.ts';
import type { ForgeMembers, ForgeOwner } from '../picture.ts';
import type { CountRule } from '../settings.ts';
import type { PartSums } from '../sums.ts';
import { eachOwner, membersIn } from './accounts.ts';
import { countArtifacts, countAttachments, countLfs, type RowOwners } from './count.ts';
import { countPackages } from './packages.ts';
import { type GiteaPart, giteaTables } from './tables.ts';

/** Those that have bytes. */
const byteParts = ['lfs', 'attachments', 'artifacts', 'packages'] as const satisfies readonly GiteaPart[];
type BytePart = (typeof byteParts)[number];

/** Where more have changed, it is no matter of names. */
const mostChangedNames = 10_000;
const ownersAtOnce = 1000;

/** What is new after a reading. */
export interface News {
  /** The owners who are new, or other than before, as JSON: some at a time. */
  owners: readonly Uint8Array[];
  /** Tells whether somebody came or went. */
  presenceChanged: boolean;
  members: readonly ForgeMembers[] | null;
  repositories: RepositoryNames | null;
  drift: FigureDrift[];
  /** The parts that were read, and how many milliseconds each took. */
  readonly tookMs: Map<GiteaPart, number>;
}

export class GiteaReading {
  readonly #rule: CountRule;
  readonly #seed: string;
  readonly owners = new OwnerRows();
  #repositories = new IdTable();
  #publicHashes: Float64Array<ArrayBuffer> | null = null;
  #membersText = '';
  readonly #sums = new Map<BytePart, PartSums>();

  constructor(rule: CountRule, seed: string) {
    this.#rule = rule;
    this.#seed = seed;
  }

  /**
   * Reads these parts. `trusted` are those of which no mark said that they changed: what is other there is
   * drift. Null: owners came back for whom there are no rows, and all has to be read anew.
   */
  async read(
    db: ForgeDatabase,
    parts: ReadonlySet<GiteaPart>,
    trusted: ReadonlySet<GiteaPart>,
  ): Promise<News | null> {
    const tookMs = new Map<GiteaPart, number>();
    const nothing = { owners: [], presenceChanged: false, members: null, repositories: null };
    const news: News = { ...nothing, drift: [], tookMs };
    const timed = async <T>(part: GiteaPart, act: () => Promise<T>): Promise<T> => {
      const start = performance.now();
      const result = await act();
      tookMs.set(part, performance.now() - start);
      return result;
    };
    if (parts.has('accounts') && !(await timed('accounts', () => this.#readAccounts(db, news)))) return null;
    const haveOwnersMoved =
      parts.has('repositories') && (await timed('repositories', () => this.#readRepositories(db, news)));
    const whose: RowOwners = { owners: this.owners.ids, repositories: this.#repositories };
    for (const part of byteParts) {
      if (!parts.has(part) && !(haveOwnersMoved && isByRepository(part, this.#rule))) continue;
      const sums = await timed(part, () => this.#count(db, part, whose));
      const before = this.#sums.get(part);
      if (before !== undefined && trusted.has(part) && !haveOwnersMoved) {
        news.drift.push(...driftOf(before, sums, whose.owners.size));
      }
      this.#sums.set(part, sums);
    }
    return news;
  }

  get sums(): Iterable<PartSums> {
    return this.#sums.values();
  }

  get repositoryCount(): number {
    return this.#repositories.size;
  }

  /** False: somebody has no row. */
  async #readAccounts(db: ForgeDatabase, news: News): Promise<boolean> {
    const before = this.owners.presentIds();
    const changed: Uint8Array[] = [];
    let some: ForgeOwner[] = [];
    const pack = () => {
      if (some.length > 0) changed.push(new TextEncoder().encode(JSON.stringify(some)));
      some = [];
    };
    let hasRows = true;
    this.owners.begin();
    await eachOwner(db, owner => {
      const isNew = this.owners.put(owner);
      if (isNew === null) hasRows = false;
      else if (isNew && some.push(owner) === ownersAtOnce) pack();
    });
    if (!hasRows) return false;
    pack();
    const after = this.owners.presentIds();
    news.owners = changed;
    news.presenceChanged = before.length !== after.length || after.some((id, index) => before[index] !== id);
    const members = await membersIn(db);
    const text = JSON.stringify(members);
    if (text !== this.#membersText) news.members = members;
    this.#membersText = text;
    return true;
  }

  /** True: a repository went, or belongs to somebody else. */
  async #readRepositories(db: ForgeDatabase, news: News): Promise<boolean> {
    const before = this.#repositories;
    const after = new IdTable();
    const hashes: number[] = [];
    const known = this.#publicHashes;
    const changed: string[] = [];
    let kept = 0;
    const columns = giteaTables.repository.slice(1);
    await eachRow(db, { table: 'repository', columns }, (id, row) => {
      const ownerId = numberAt(row, 1);
      after.add(id, ownerId);
      if (before.get(id) === ownerId) kept++;
      const name = `${textAt(row, 2).toLowerCase()}/${textAt(row, 3)}`;
      const hash = repositoryHash(this.#seed, name);
      const isPublic = !flagAt(row, 4);
      if (isPublic) hashes.push(hash);
      if (known !== null && isAmong(known, hash) !== isPublic && changed.length <= mostChangedNames) {
        changed.push(name);
      }
    });
    const publicHashes = Float64Array.from(hashes).sort();
    const isSame =
      known?.length === publicHashes.length && known.every((one, at) => one === publicHashes[at]);
    if (!isSame) {
      news.repositories = {
        publicHashes: publicHashes.slice(),
        changed: known === null || changed.length > mostChangedNames ? null : changed,
      };
    }
    this.#publicHashes = publicHashes;
    this.#repositories = after;
    return kept < before.size;
  }

  #count(db: ForgeDatabase, part: BytePart, whose: RowOwners): Promise<PartSums> {
    switch (part) {
      case 'lfs':
        return countLfs(db, whose, this.#rule);
      case 'attachments':
        return countAttachments(db, whose);
      case 'artifacts':
        return countArtifacts(db, whose, this.#rule);
      case 'packages':
        return countPackages(db, whose, this.#rule);
    }
  }
}

/** Packages have owners of their own, but for Forgejo's rule. */
function isByRepository(part: BytePart, rule: CountRule): boolean {
  return part !== 'packages' || rule === 'as-forgejo';
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
