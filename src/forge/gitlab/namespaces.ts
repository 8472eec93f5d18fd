/** The namespaces of GitLab: users and groups, and which of them owns what is in a subgroup. */

import type { ForgeDatabase } from '../database.ts';
import { IdTable } from '../id-table.ts';
import { eachRow, numberAt, textAt } from '../pages.ts';
import type { OwnerLevel } from '../settings.ts';
import { gitlabTables } from './tables.ts';

interface Namespace {
  readonly id: number;
  readonly path: string;
  readonly isGroup: boolean;
  /** 0: it is a top-level one. */
  readonly parentId: number;
  /** The user whose namespace it is; 0 for a group. */
  readonly userId: number;
}

/** GitLab allows 20; more is a circle of a database that is half restored. */
const mostLevels = 50;

export class Namespaces {
  readonly #level: OwnerLevel;
  #all: Namespace[] = [];
  #rows = new IdTable();
  #byUser = new Map<number, number>();

  constructor(level: OwnerLevel) {
    this.#level = level;
  }

  async read(db: ForgeDatabase): Promise<void> {
    const all: Namespace[] = [];
    const rows = new IdTable();
    const byUser = new Map<number, number>();
    await eachRow(db, { table: 'namespaces', columns: gitlabTables.namespaces.slice(1) }, (id, row) => {
      const type = textAt(row, 2);
      // Each project has a namespace of its own, which owns nothing.
      if (type === 'Project') return;
      const isGroup = type === 'Group';
      const userId = isGroup ? 0 : numberAt(row, 4);
      rows.add(id, all.length);
      all.push({ id, path: textAt(row, 1), isGroup, parentId: numberAt(row, 3), userId });
      if (userId !== 0) byUser.set(userId, id);
    });
    this.#all = all;
    this.#rows = rows;
    this.#byUser = byUser;
  }

  /** Those that own data, by ascending ids. */
  get owners(): readonly Namespace[] {
    return this.#level === 'top' ? this.#all.filter(({ parentId }) => parentId === 0) : this.#all;
  }

  /** The id of the owner of what is in a namespace; undefined if there is none. */
  ownerIdOf(namespaceId: number): number | undefined {
    const line = this.lineOf(namespaceId);
    return this.#level === 'top' ? line.at(-1)?.id : line[0]?.id;
  }

  ownerIdOfUser(userId: number): number | undefined {
    return this.#byUser.get(userId);
  }

  /** The name by which users know an owner: `group/subgroup`. */
  fullPathOf(namespaceId: number): string {
    return this.lineOf(namespaceId)
      .map(({ path }) => path)
      .reverse()
      .join('/');
  }

  /** A namespace and those above it; empty where there is none, or one above is missing. */
  lineOf(namespaceId: number): readonly Namespace[] {
    const line: Namespace[] = [];
    for (let id = namespaceId; id !== 0; ) {
      const row = this.#rows.get(id);
      const namespace = row === undefined ? undefined : this.#all[row];
      if (namespace === undefined || line.length === mostLevels) return [];
      line.push(namespace);
      id = namespace.parentId;
    }
    return line;
  }
}
