/**
 * Units in columns: as they come from the store's thread, some at a time. A column crosses between threads
 * many times quicker than an object for each unit, and who keeps units in columns, too, takes them as they
 * are.
 */

import { type Leaf, leafIndex, leaves } from '../quota/index.ts';
import { decodeWtf8, encodeWtf8 } from '../wtf8.ts';
import { reachOf, type UnitRecord } from './unit.ts';

/** The flags in `kinds`, which are added to 4 times the leaf's index. */
export const kindFlags = { reported: 1, partial: 2 } as const;

/** The columns that lie in one buffer; the fields of one unit have the same place in each. */
export interface Room {
  /** The ids as WTF-8, one behind the other, and where each ends. */
  readonly ids: Uint8Array<ArrayBuffer>;
  readonly ends: Int32Array<ArrayBuffer>;
  /** The place of each unit's owner in `owners`; -1: it has none. */
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

/** The fields of some units. */
export interface UnitColumns extends Room {
  /** Null: each unit's name is what its id says, and each reported one's id begins with the owner's name. */
  readonly names: readonly string[] | null;
  /** One, if it is everybody's; else one each. */
  readonly hosts: readonly string[];
  /** The owners, one for units that follow each other. */
  readonly owners: readonly string[];
}

/** May be read until it was taken; then its buffer is used again. */
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

/**
 * Room for the columns of so many units, all in one buffer: `spare`, if it is large enough, so that whoever
 * reads many of them takes no memory anew each time.
 */
export function roomFor(units: number, idBytes: number, spare: ArrayBuffer | null): Room {
  const needed = units * (6 * 8 + 2 * 4 + 1) + idBytes;
  const buffer = spare !== null && spare.byteLength >= needed ? spare : new ArrayBuffer(2 * needed);
  let end = 0;
  const place = (bytes: number) => {
    end += bytes;
    return end - bytes;
  };
  const numbers = () => new Float64Array(buffer, place(8 * units), units);
  const places = () => new Int32Array(buffer, place(4 * units), units);
  return {
    bytes: numbers(),
    files: numbers(),
    measuredAt: numbers(),
    seq: numbers(),
    reachable: numbers(),
    unreachable: numbers(),
    ends: places(),
    ownersAt: places(),
    kinds: new Uint8Array(buffer, place(units), units),
    ids: new Uint8Array(buffer, place(idBytes), idBytes),
  };
}

/** The columns of units, whatever they are. */
export function columnsOf(units: readonly UnitRecord[], spare: ArrayBuffer | null = null): UnitColumns {
  const ids = Buffer.concat(units.map(({ id }) => encodeWtf8(id)));
  const room = roomFor(units.length, ids.length, spare);
  let end = 0;
  for (const [at, unit] of units.entries()) {
    end += encodeWtf8(unit.id).length;
    const flags =
      (unit.kind === 'reported' ? kindFlags.reported : 0) | (unit.partial ? kindFlags.partial : 0);
    room.ends[at] = end;
    room.ownersAt[at] = unit.owner === null ? -1 : at;
    room.kinds[at] = 4 * leafIndex(unit.leaf) + flags;
    room.bytes[at] = unit.bytes;
    room.files[at] = unit.files;
    room.measuredAt[at] = unit.measuredAt;
    room.seq[at] = unit.seq;
    room.reachable[at] = unit.reach?.reachableBytes ?? 0;
    room.unreachable[at] = unit.reach?.unreachableBytes ?? 0;
  }
  room.ids.set(ids);
  return {
    ...room,
    names: units.every(isUsual) ? null : units.map(({ name }) => name),
    hosts: units.map(({ host }) => host),
    owners: units.map(({ owner }) => owner ?? ''),
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

function textAt({ ids, ends }: UnitColumns, at: number): string {
  const text = decodeWtf8(ids.subarray(at === 0 ? 0 : ends[at - 1], ends[at]));
  if (text === null) throw new Error(`the id of unit ${at} is no text`);
  return text;
}
