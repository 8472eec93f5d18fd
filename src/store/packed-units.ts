/**
 * Units in columns: as they come from the store's thread, some at a time. A column crosses between threads many
 * times quicker than an object for each unit, and who keeps units in columns, too, takes them as they are.
 */

import { type Leaf, leafIndex, leaves } from '../quota/index.ts';
import { reachOf, type UnitRecord } from './store.ts';
import { decodeWtf8, encodeWtf8 } from './wtf8.ts';

/** What is in `kinds` beside the leaf, which is that many times 4. */
export const kindFlags = { reported: 1, partial: 2 } as const;

/** The fields of some units; those of one unit have the same place in each. */
export interface UnitColumns {
  /** The ids as WTF-8, one behind the other, and where each ends. */
  readonly ids: Uint8Array<ArrayBuffer>;
  readonly ends: Int32Array<ArrayBuffer>;
  /** Null: each unit's name is what its id says, and each reported one's id begins with the owner's name. */
  readonly names: readonly string[] | null;
  /** One, if it is everybody's; else one each. */
  readonly hosts: readonly string[];
  /** The owners, one for units that follow each other, and the place of each unit's; -1: it has none. */
  readonly owners: readonly string[];
  readonly ownersAt: Int32Array<ArrayBuffer>;
  /** The place of the leaf in `leaves`, times 4, and the flags. */
  readonly kinds: Uint8Array<ArrayBuffer>;
  readonly bytes: Float64Array<ArrayBuffer>;
  readonly files: Float64Array<ArrayBuffer>;
  readonly measuredAt: Float64Array<ArrayBuffer>;
  readonly seq: Float64Array<ArrayBuffer>;
  readonly reachable: Float64Array<ArrayBuffer>;
  readonly unreachable: Float64Array<ArrayBuffer>;
}

export class PackedUnits implements Iterable<UnitRecord> {
  readonly columns: UnitColumns;

  constructor(columns: UnitColumns) {
    this.columns = columns;
  }

  get size(): number {
    return this.columns.ends.length;
  }

  /** The records, each made when it is come to. */
  *[Symbol.iterator](): Generator<UnitRecord> {
    for (let at = 0; at < this.size; at += 1) yield this.#record(at);
  }

  #record(at: number): UnitRecord {
    const { columns } = this;
    const id = textAt(columns, at);
    const code = columns.kinds[at] ?? 0;
    const isReported = (code & kindFlags.reported) !== 0;
    const leaf = leaves[code >> 2] ?? leaves[0];
    return {
      id,
      kind: isReported ? 'reported' : 'walked',
      host: columns.hosts[columns.hosts.length === 1 ? 0 : at] ?? '',
      name: columns.names?.[at] ?? (isReported ? nameIn(id, leaf) : id),
      owner: columns.owners[columns.ownersAt[at] ?? -1] ?? null,
      leaf,
      bytes: columns.bytes[at] ?? 0,
      files: columns.files[at] ?? 0,
      partial: (code & kindFlags.partial) !== 0,
      measuredAt: columns.measuredAt[at] ?? 0,
      seq: columns.seq[at] ?? 0,
      ...reachOf(columns.reachable[at] ?? 0, columns.unreachable[at] ?? 0),
    };
  }
}

/** The columns of units, whatever they are. */
export function columnsOf(units: readonly UnitRecord[]): UnitColumns {
  const numbers = (field: (unit: UnitRecord) => number) => Float64Array.from(units, field);
  const ids = units.map(({ id }) => encodeWtf8(id));
  let end = 0;
  return {
    ids: new Uint8Array(Buffer.concat(ids)),
    ends: Int32Array.from(ids, ({ length }) => {
      end += length;
      return end;
    }),
    names: units.every(isUsual) ? null : units.map(({ name }) => name),
    hosts: units.map(({ host }) => host),
    owners: units.map(({ owner }) => owner ?? ''),
    ownersAt: Int32Array.from(units, ({ owner }, at) => (owner === null ? -1 : at)),
    kinds: Uint8Array.from(units, ({ leaf, kind, partial }) => {
      const flags = (kind === 'reported' ? kindFlags.reported : 0) | (partial ? kindFlags.partial : 0);
      return 4 * leafIndex(leaf) + flags;
    }),
    bytes: numbers(({ bytes }) => bytes),
    files: numbers(({ files }) => files),
    measuredAt: numbers(({ measuredAt }) => measuredAt),
    seq: numbers(({ seq }) => seq),
    reachable: numbers(({ reach }) => reach?.reachableBytes ?? 0),
    unreachable: numbers(({ reach }) => reach?.unreachableBytes ?? 0),
  };
}

/** See `UnitColumns.names`. */
function isUsual({ id, kind, owner, leaf, name }: UnitRecord): boolean {
  return kind === 'walked' ? id === name : owner !== null && id === `${owner}\0${leaf}\0${name}`;
}

/** The name of a reported unit stands behind its owner's key and leaf. */
export function nameIn(id: string, leaf: Leaf): string {
  const before = `\0${leaf}\0`;
  return id.slice(id.indexOf(before) + before.length);
}

/** The buffers that may be given away with the columns. */
export function buffersOf({ names, hosts, owners, ...packed }: UnitColumns): readonly ArrayBuffer[] {
  return Object.values(packed).map(({ buffer }) => buffer);
}

function textAt({ ids, ends }: UnitColumns, at: number): string {
  const text = decodeWtf8(ids.subarray(at === 0 ? 0 : ends[at - 1], ends[at]));
  if (text === null) throw new Error(`the id of unit ${at} is no text`);
  return text;
}
