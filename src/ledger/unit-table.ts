/**
 * The units of this host, in columns: some hundred bytes each, and nothing that a collection of garbage has
 * to look at. A record is made when somebody asks for it.
 *
 * The units of an account are a chain of rows, which the account holds the first of.
 */

import { grown, noRow } from '../columns.ts';
import { leafIndex, leaves } from '../quota/index.ts';
import { kindFlags, nameIn, reachOf, type UnitColumns, type UnitRecord } from '../store/index.ts';
import { TextTable } from '../text-table.ts';

export class UnitTable {
  readonly #host: string;
  readonly #ids = new TextTable();
  #bytes = new Float64Array(0);
  #files = new Float64Array(0);
  #measuredAt = new Float64Array(0);
  #seq = new Float64Array(0);
  #reachable = new Float64Array(0);
  #unreachable = new Float64Array(0);
  #leaves = new Uint8Array(0);
  #flags = new Uint8Array(0);
  /** The row of the account in whose chain it is, or `noRow`. */
  #chains = new Int32Array(0);
  #next = new Int32Array(0);
  #previous = new Int32Array(0);
  /** Names of owners as found, where they are not the keys. */
  readonly #spellings: (string | undefined)[] = [];
  /** The hosts of units that an earlier life of this daemon, under another name, has left. */
  readonly #otherHosts = new Map<number, string>();
  readonly #free: number[] = [];
  #end = 0;
  readonly #keyOf: (account: number) => string;

  /** Most units are those of `host`; `keyOf` gives the key of an account's owner. */
  constructor(host: string, keyOf: (account: number) => string) {
    this.#host = host;
    this.#keyOf = keyOf;
  }

  get size(): number {
    return this.#ids.size;
  }

  /** Prepares for about so many units. */
  expect(units: number): void {
    this.#ids.expect(units);
    this.#makeRoomFor(units - 1);
  }

  /** Gives the row of the unit with this id, or `noRow`. */
  find(id: string): number {
    return this.#ids.find(id);
  }

  /** Gives the innermost walked unit that this path is or lies in, or `noRow`. */
  findWalkedAt(path: string): number {
    return this.#ids.findAbove(path, this.isWalked);
  }

  /** Every row, in no order; those that come meanwhile may be among them. */
  *rows(): Generator<number> {
    for (let row = 0; row < this.#end; row += 1) if (this.#ids.has(row)) yield row;
  }

  record(row: number): UnitRecord {
    const id = this.#ids.text(row);
    const isReported = this.#has(row, kindFlags.reported);
    const leaf = leaves[this.leafIndex(row)] ?? leaves[0];
    return {
      id,
      kind: isReported ? 'reported' : 'walked',
      host: this.#otherHosts.get(row) ?? this.#host,
      name: isReported ? nameIn(id, leaf) : id,
      owner: this.owner(row),
      leaf,
      bytes: this.bytes(row),
      files: this.#files[row] ?? 0,
      partial: this.#has(row, kindFlags.partial),
      measuredAt: this.measuredAt(row),
      seq: this.seq(row),
      ...reachOf(this.#reachable[row] ?? 0, this.#unreachable[row] ?? 0),
    };
  }

  id(row: number): string {
    return this.#ids.text(row);
  }

  owner(row: number): string | null {
    const account = this.accountOf(row);
    return account === noRow ? null : (this.spelling(row) ?? this.#keyOf(account));
  }

  /** The owner's name as found; undefined where it is the key. */
  spelling(row: number): string | undefined {
    return this.#spellings[row];
  }

  /** The rows of units whose owners' names are not the keys. */
  *spelledRows(): Generator<number> {
    for (const [row, name] of this.#spellings.entries()) if (name !== undefined) yield row;
  }

  /** The account in whose chain it is, or `noRow`. */
  accountOf(row: number): number {
    return this.#chains[row] ?? noRow;
  }

  bytes(row: number): number {
    return this.#bytes[row] ?? 0;
  }

  leafIndex(row: number): number {
    return this.#leaves[row] ?? 0;
  }

  measuredAt(row: number): number {
    return this.#measuredAt[row] ?? 0;
  }

  seq(row: number): number {
    return this.#seq[row] ?? 0;
  }

  isPartial(row: number): boolean {
    return this.#has(row, kindFlags.partial);
  }

  /** Tells whether something in it is unreachable. */
  hasUnreachable(row: number): boolean {
    return (this.#unreachable[row] ?? 0) > 0;
  }

  readonly isWalked = (row: number) => !this.#has(row, kindFlags.reported);

  /** Puts in a unit of which there is none with this id, in no chain. `ownerKey`: see `set`. */
  add(unit: UnitRecord, ownerKey: string | null): number {
    const row = this.#free.pop() ?? this.#end++;
    if (row >= this.#bytes.length) this.#makeRoomFor(row);
    this.#ids.add(row, unit.id);
    this.#chains[row] = noRow;
    this.set(row, unit, ownerKey);
    return row;
  }

  /**
   * Puts in units whose ids are not there, in no chain; gives the row of the first, which the others follow.
   * `spellings`: the names of the owners in the columns that are not their keys.
   */
  append(units: UnitColumns, spellings: readonly (string | undefined)[]): number {
    const first = this.#end;
    const count = units.ends.length;
    this.#end += count;
    if (first + count > this.#bytes.length) this.#makeRoomFor(first + count - 1);
    this.#ids.append(first, units.ids, units.ends);
    this.#chains.fill(noRow, first, first + count);
    this.#bytes.set(units.bytes, first);
    this.#files.set(units.files, first);
    this.#measuredAt.set(units.measuredAt, first);
    this.#seq.set(units.seq, first);
    for (let at = 0; at < count; at += 1) {
      this.#spell(first + at, spellings[units.ownersAt[at] ?? noRow]);
      this.#setReach(first + at, units.reachable[at] ?? 0, units.unreachable[at] ?? 0);
      const kind = units.kinds[at] ?? 0;
      this.#leaves[first + at] = kind >> 2;
      this.#flags[first + at] = kind & (kindFlags.reported | kindFlags.partial);
      const host = units.hosts[units.hosts.length === 1 ? 0 : at] ?? this.#host;
      if (host !== this.#host) this.#otherHosts.set(first + at, host);
    }
    return first;
  }

  /** Puts a unit in the place of the one with its id. `ownerKey`: its owner's key. */
  set(row: number, unit: UnitRecord, ownerKey: string | null): void {
    this.#spell(row, unit.owner === null || unit.owner === ownerKey ? undefined : unit.owner);
    this.#bytes[row] = unit.bytes;
    this.#files[row] = unit.files;
    this.#measuredAt[row] = unit.measuredAt;
    this.#seq[row] = unit.seq;
    this.#setReach(row, unit.reach?.reachableBytes ?? 0, unit.reach?.unreachableBytes ?? 0);
    this.#leaves[row] = leafIndex(unit.leaf);
    this.#flags[row] =
      (unit.kind === 'reported' ? kindFlags.reported : 0) | (unit.partial ? kindFlags.partial : 0);
    if (unit.host !== this.#host) this.#otherHosts.set(row, unit.host);
    else this.#otherHosts.delete(row);
  }

  /** Takes a unit out that is in no chain. */
  remove(row: number): void {
    this.#ids.remove(row);
    this.#spell(row, undefined);
    this.#otherHosts.delete(row);
    this.#free.push(row);
  }

  /** Puts a row before the first of a chain. */
  link(row: number, first: number, chain: number): void {
    this.#chains[row] = chain;
    this.#next[row] = first;
    this.#previous[row] = noRow;
    if (first !== noRow) this.#previous[first] = row;
  }

  /** Takes a row out of its chain; gives the chain's first then. */
  unlink(row: number, first: number): number {
    const [previous, next] = [this.#previous[row] ?? noRow, this.#next[row] ?? noRow];
    if (previous !== noRow) this.#next[previous] = next;
    if (next !== noRow) this.#previous[next] = previous;
    this.#chains[row] = noRow;
    return first === row ? next : first;
  }

  /** The rows of a chain. Nothing may change before all of them were gone through. */
  *chain(first: number): Generator<number> {
    for (let row = first; row !== noRow; row = this.#next[row] ?? noRow) yield row;
  }

  #has(row: number, flag: number): boolean {
    return ((this.#flags[row] ?? 0) & flag) !== 0;
  }

  /** Stores the spelling of a name. If all names are keys there is no such column. */
  #spell(row: number, name: string | undefined): void {
    if (name === undefined && row >= this.#spellings.length) return;
    while (this.#spellings.length < row) this.#spellings.push(undefined);
    this.#spellings[row] = name;
  }

  /** Stores the unreachable bytes of a unit. Until any unit has some there are no such columns. */
  #setReach(row: number, reachable: number, unreachable: number): void {
    if (unreachable === 0 && row >= this.#unreachable.length) return;
    this.#reachable = grown(this.#reachable, row + 1);
    this.#unreachable = grown(this.#unreachable, row + 1);
    this.#reachable[row] = reachable;
    this.#unreachable[row] = unreachable;
  }

  #makeRoomFor(row: number): void {
    const rows = row + 1;
    this.#bytes = grown(this.#bytes, rows);
    this.#files = grown(this.#files, rows);
    this.#measuredAt = grown(this.#measuredAt, rows);
    this.#seq = grown(this.#seq, rows);
    this.#leaves = grown(this.#leaves, rows);
    this.#flags = grown(this.#flags, rows);
    this.#chains = grown(this.#chains, rows);
    this.#next = grown(this.#next, rows);
    this.#previous = grown(this.#previous, rows);
  }
}
