/** Parts of all campaigns of random changes: tables whose changes are statements, and what is stored. */

import { mkdirSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Numbers } from '../../numbers.ts';

/** Something that takes space, with the names of the owners for whom it counts; nobody's without any. */
export interface Stored {
  readonly leaf: string;
  readonly bytes: number;
  readonly owners: readonly string[];
}

export interface Campaign {
  /** Changes something, on the disk at once. */
  step(): void;
  /** The statements of the changes since the last call, which come into force together. */
  statements(): string;
  /** All that is stored. Called once the daemon knows all of it, and of nothing in between. */
  stored(): readonly Stored[];
}

type Value = number | string | boolean | null;
type Row = { readonly id: number } & Readonly<Record<string, Value>>;

/** The rows of a table, as they are once its statements were run. */
export class Table<Columns extends Row> {
  readonly rows = new Map<number, Columns>();
  readonly #name: string;
  readonly #statements: string[];
  #lastId = 0;

  constructor(name: string, statements: string[]) {
    this.#name = `"${name}"`;
    this.#statements = statements;
  }

  add(row: Omit<Columns, 'id'>): Columns {
    // The spread of the columns and an id is a row.
    const added = { ...row, id: ++this.#lastId } as Columns;
    this.rows.set(added.id, added);
    const names = Object.keys(added).map(name => `"${name}"`);
    this.#statements.push(
      `INSERT INTO ${this.#name} (${names.join(', ')}) VALUES (${Object.values(added).map(literal).join(', ')})`,
    );
    return added;
  }

  change(id: number, to: Partial<Columns>): void {
    const row = this.rows.get(id);
    if (row === undefined) throw new Error(`${this.#name} has no row ${id}`);
    this.rows.set(id, { ...row, ...to });
    const pairs = Object.entries(to).map(([name, value]) => `"${name}" = ${literal(value ?? null)}`);
    this.#statements.push(`UPDATE ${this.#name} SET ${pairs.join(', ')} WHERE id = ${id}`);
  }

  remove(isMeant: (row: Columns) => boolean): readonly Columns[] {
    const gone = this.where(isMeant);
    for (const { id } of gone) {
      this.rows.delete(id);
      this.#statements.push(`DELETE FROM ${this.#name} WHERE id = ${id}`);
    }
    return gone;
  }

  get all(): readonly Columns[] {
    return [...this.rows.values()];
  }

  where(isMeant: (row: Columns) => boolean): readonly Columns[] {
    return this.all.filter(isMeant);
  }

  /** One of those that are meant; undefined: there is none. */
  any(random: Numbers, isMeant: (row: Columns) => boolean = () => true): Columns | undefined {
    const found = this.where(isMeant);
    return found[random(Math.max(1, found.length))];
  }
}

function literal(value: Value | undefined): string {
  return typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value ?? null);
}

/** Makes something like a repository, or writes another size into it. */
export function writeRepository(path: string, bytes: number): void {
  for (const name of ['objects', 'refs']) mkdirSync(join(path, name), { recursive: true });
  writeFileSync(join(path, 'HEAD'), 'ref: refs/heads/main\n');
  // git never writes into a file that is there, and sweeps rely on that.
  writeFileSync(join(path, 'objects', 'new'), Buffer.alloc(bytes));
  renameSync(join(path, 'objects', 'new'), join(path, 'objects', 'data'));
  // Bytes that no push brought count once the directory has been quiet for ten seconds.
  const longAgo = Date.now() / 1000 - 60;
  utimesSync(join(path, 'objects'), longAgo, longAgo);
}

export function repositoryBytes(path: string): number {
  return statSync(join(path, 'HEAD')).size + statSync(join(path, 'objects', 'data')).size;
}

export function removeRepository(path: string): void {
  rmSync(path, { recursive: true });
}

/** True one time in so many. */
export function isOneIn(times: number, random: Numbers): boolean {
  return random(times) === 0;
}

/** Does one of these, the first as often as its number says among all of them. */
export function oneByWeight(random: Numbers, choices: readonly (readonly [number, () => void])[]): void {
  let left = random(choices.reduce((sum, [weight]) => sum + weight, 0));
  for (const [weight, act] of choices) {
    left -= weight;
    if (left >= 0) continue;
    act();
    return;
  }
}
