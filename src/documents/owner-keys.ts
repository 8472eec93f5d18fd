/**
 * The keys of owners, packed, with a row for each. Whoever has something of an owner in columns holds the
 * row, and it is another owner's only once nobody holds it any more: so all have the same rows, and each key
 * is there once.
 */

import { grown, noRow } from '../columns.ts';
import { TextTable } from '../text-table.ts';

export class OwnerKeys {
  readonly #texts = new TextTable();
  /** Number of holders of each row. A row is reused after the last holder has released it. */
  #holders = new Uint8Array(0);
  readonly #free: number[] = [];
  #end = 0;
  /** The row that was found or read last: mostly the same owner is asked for again, or the next one. */
  #last = noRow;

  /** No row is this or above. */
  get end(): number {
    return this.#end;
  }

  /** Prepares for about so many keys. */
  expect(keys: number): void {
    this.#texts.expect(keys);
    this.#holders = grown(this.#holders, keys);
  }

  /** Gives the row of a key, or `noRow`. */
  find(key: string): number {
    const last = this.#last;
    if (this.#texts.isAscii(last, key)) return last;
    const found = this.#texts.isAscii(last + 1, key) ? last + 1 : this.#texts.find(key);
    if (found !== noRow) this.#last = found;
    return found;
  }

  /** The key of a row that is held. */
  key(row: number): string {
    this.#last = row;
    return this.#texts.text(row);
  }

  /** Tells whether the key of a row contains this text, in UTF-8. */
  contains(row: number, part: Uint8Array): boolean {
    return this.#texts.contains(row, part);
  }

  /** Gives the row of a key, which stays its row until it was released as often. */
  hold(key: string): number {
    const known = this.find(key);
    const row = known === noRow ? this.#added(key) : known;
    this.#holders[row] = (this.#holders[row] ?? 0) + 1;
    return row;
  }

  release(row: number): void {
    const holders = (this.#holders[row] ?? 0) - 1;
    if (holders < 0) throw new Error(`nobody holds row ${row}`);
    this.#holders[row] = holders;
    if (holders > 0) return;
    this.#texts.remove(row);
    this.#free.push(row);
  }

  #added(key: string): number {
    const row = this.#free.pop() ?? this.#end++;
    this.#holders = grown(this.#holders, row + 1);
    this.#texts.add(row, key);
    return row;
  }
}
