/** Parts of all campaigns of random changes: tables whose changes are statements, and what is stored. */

import { mkdirSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Numbers, oneOf } from '../../numbers.ts';

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
type Columns = Readonly<Record<string, Value>>;
type Row<Of extends Columns> = Of & { readonly id: number };

/** The chances of a campaign, and its tables, whose changes are statements. */
export class Chances {
  readonly random: Numbers;
  readonly #statements: string[] = [];

  constructor(random: Numbers) {
    this.random = random;
  }

  /** `usual`: the columns besides the id, for rows that say nothing else. */
  table<Of extends Columns>(name: string, usual: Of): Table<Of> {
    return new Table(`"${name}"`, usual, this.#statements, this.random);
  }

  statements(): string {
    return `BEGIN;\n${this.#statements.splice(0).join(';\n')};\nCOMMIT;`;
  }

  /** True one time in so many. */
  isOneIn(times: number): boolean {
    return this.random(times) === 0;
  }

  oneOf<Item>(items: readonly Item[]): Item {
    return oneOf(items, this.random);
  }

  /** The bytes of something new. */
  size(): number {
    return 1 + this.random(5000);
  }

  /** Does one of these, the first as often as its number says among all of them. */
  oneByWeight(choices: readonly (readonly [number, () => void])[]): void {
    let left = this.random(choices.reduce((sum, [weight]) => sum + weight, 0));
    for (const [weight, act] of choices) {
      left -= weight;
      if (left >= 0) continue;
      act();
      return;
    }
  }
}

/** The rows of a table, as they are once its statements were run. */
class Table<Of extends Columns> {
  readonly rows = new Map<number, Row<Of>>();
  readonly #name: string;
  readonly #usual: Of;
  readonly #statements: string[];
  readonly #random: Numbers;
  #lastId = 0;

  constructor(name: string, usual: Of, statements: string[], random: Numbers) {
    this.#name = name;
    this.#usual = usual;
    this.#statements = statements;
    this.#random = random;
  }

  add(row: Partial<Of>): Row<Of> {
    const added = { ...this.#usual, ...row, id: ++this.#lastId };
    this.rows.set(added.id, added);
    const names = Object.keys(added).map(name => `"${name}"`);
    this.#statements.push(
      `INSERT INTO ${this.#name} (${names.join(', ')}) VALUES (${Object.values(added).map(literal).join(', ')})`,
    );
    return added;
  }

  change(id: number, to: Partial<Of>): void {
    const row = this.rows.get(id);
    if (row === undefined) throw new Error(`${this.#name} has no row ${id}`);
    this.rows.set(id, { ...row, ...to });
    const pairs = Object.entries(to).map(([name, value]) => `"${name}" = ${literal(value ?? null)}`);
    this.#statements.push(`UPDATE ${this.#name} SET ${pairs.join(', ')} WHERE id = ${id}`);
  }

  remove(isMeant: (row: Row<Of>) => boolean): readonly Row<Of>[] {
    const gone = this.where(isMeant);
    for (const { id } of gone) {
      this.rows.delete(id);
      this.#statements.push(`DELETE FROM ${this.#name} WHERE id = ${id}`);
    }
    return gone;
  }

  get all(): readonly Row<Of>[] {
    return [...this.rows.values()];
  }

  where(isMeant: (row: Row<Of>) => boolean): readonly Row<Of>[] {
    return this.all.filter(isMeant);
  }

  /** One of those that are meant; undefined: there is none. */
  any(isMeant: (row: Row<Of>) => boolean = () => true): Row<Of> | undefined {
    const found = this.where(isMeant);
    return found[this.#random(Math.max(1, found.length))];
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
