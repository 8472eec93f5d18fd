/**
 * Reading units, some at a time, as columns.
 *
 * SQLite itself puts the values of a column together, which takes a third of the time of a value for each
 * field of each row. That is done of rows as a daemon usually writes them; where anything else is among
 * them, they are read row by row, which tells damage from what is only rare.
 */

import { isUtf8 } from 'node:buffer';
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import { leaves } from '../../quota/index.ts';
import { columnsOf, kindFlags, type Room, roomFor, type UnitColumns } from '../packed-units.ts';
import { reachOf, type UnitRecord } from '../unit.ts';
import { choiceValue, leafValue, wholeValue } from '../untrusted.ts';
import { unreadable } from './faults.ts';
import { asText, textValue } from './rows.ts';

/** The other thread takes a few milliseconds for them. */
export const unitsAtOnce = 4000;

type Row = Readonly<Record<number, SQLOutputValue>>;

/** The code of `UnitColumns.kinds`; null for what no record is. */
const kindCode =
  `CASE leaf ${leaves.map((leaf, at) => `WHEN '${leaf}' THEN ${4 * at}`).join(' ')} END + ` +
  `CASE kind WHEN 'walked' THEN 0 WHEN 'reported' THEN ${kindFlags.reported} END + ` +
  `CASE partial WHEN 0 THEN 0 WHEN 1 THEN ${kindFlags.partial} END`;

/** The condition in SQL of a unit that is not as `names: null` says. */
const isOdd =
  "CASE kind WHEN 'walked' THEN name IS NOT NULL " +
  "ELSE id IS NOT CAST(owner || x'00' || leaf || x'00' || name AS BLOB) END";

const numbers = [
  'length(id)',
  'ifnull(length(owner), -1)',
  kindCode,
  'bytes',
  'files',
  'measured_at',
  'seq',
  'reachable',
  'unreachable',
];

const after = 'FROM units WHERE id > ? ORDER BY units.id LIMIT ?';

/** `after`: the last id as WTF-8; null: from the beginning. `spare`: a buffer that the columns may lie in. */
type ReadUnits = (after: Uint8Array | null, spare: ArrayBuffer | null) => UnitColumns;

/**
 * Reads the units that come after this id, some at a time: those who ask get no more than they can take.
 * Throws `store_refused` at the first row that cannot be one.
 */
export function unitReader(db: DatabaseSync, file: string): ReadUnits {
  const together = db.prepare(
    `SELECT count(*), sum(${isOdd}), min(host), max(host), CAST(group_concat(id, '') AS BLOB), ` +
      `CAST(group_concat(owner, '') AS BLOB), ${numbers.map(column => `json_group_array(${column})`).join(', ')} ` +
      `FROM (SELECT * ${after})`,
  );
  const singly = db.prepare(
    `SELECT ${asText('id')}, kind, ${asText('host')}, ${asText('name')}, ${asText('owner')}, leaf, bytes, files, ` +
      `partial, measured_at, seq, reachable, unreachable ${after}`,
  );
  together.setReturnArrays(true);
  singly.setReturnArrays(true);
  return (last, spare) => {
    // Bytes come after every text.
    const place = last ?? '';
    try {
      const [row] = together.all(place, unitsAtOnce);
      return (
        (row && usualColumns(row, spare)) ?? columnsOf(singly.all(place, unitsAtOnce).map(recordOf), spare)
      );
    } catch (error) {
      throw unreadable(file, 'units', error);
    }
  };
}

/** The columns of usual units, whose values are together; null where they are not usual. */
function usualColumns(row: Row, spare: ArrayBuffer | null): UnitColumns | null {
  const { 0: count, 1: odd, 2: host, 3: lastHost, 4: ids, 5: ownerTexts, ...lists } = row;
  if (typeof count !== 'number' || count === 0 || odd !== 0) return null;
  if (!(ids instanceof Uint8Array && host instanceof Uint8Array && lastHost instanceof Uint8Array))
    return null;
  if (Buffer.compare(host, lastHost) !== 0) return null;
  const columns = Object.values(lists).map(list => wholesIn(list, count));
  const [lengths, ownerLengths, kinds, bytes, files, measuredAt, seq, reachable, unreachable] = columns;
  if (
    !(lengths && ownerLengths && kinds && bytes && files && measuredAt && seq && reachable && unreachable)
  ) {
    return null;
  }
  const room = roomFor(count, ids.length, spare);
  if (!putEnds(room.ends, ids, lengths)) return null;
  const owners = ownersIn(
    ownerTexts instanceof Uint8Array ? ownerTexts : new Uint8Array(),
    ownerLengths,
    room,
  );
  if (owners === null) return null;
  room.ids.set(ids);
  room.kinds.set(kinds);
  room.bytes.set(bytes);
  room.files.set(files);
  room.measuredAt.set(measuredAt);
  room.seq.set(seq);
  room.reachable.set(reachable);
  room.unreachable.set(unreachable);
  return { ...room, names: null, hosts: [textValue(host, 'host')], owners };
}

/** Reads so many whole numbers of a JSON list; null where there is anything else. */
function wholesIn(list: SQLOutputValue | undefined, count: number): readonly number[] | null {
  const values: unknown = JSON.parse(String(list));
  const isList = Array.isArray(values) && values.length === count && values.every(Number.isSafeInteger);
  return isList ? values : null;
}

/** Puts down where each text ends; false unless each is UTF-8 by itself. */
function putEnds(ends: Int32Array, texts: Uint8Array, lengths: readonly number[]): boolean {
  let end = 0;
  for (const [at, length] of lengths.entries()) {
    if (isWithinCharacter(texts[end])) return false;
    end += length;
    ends[at] = end;
  }
  return end === texts.length && isUtf8(texts);
}

/** Gives the owners of units that follow each other once; null unless all names are UTF-8. */
function ownersIn(
  texts: Uint8Array,
  lengths: readonly number[],
  { ownersAt }: Pick<Room, 'ownersAt'>,
): readonly string[] | null {
  const bytes = Buffer.from(texts.buffer, texts.byteOffset, texts.byteLength);
  const owners: string[] = [];
  let [begin, end] = [0, 0];
  for (const [at, length] of lengths.entries()) {
    ownersAt[at] = -1;
    if (length < 0) continue;
    if (isWithinCharacter(bytes[end])) return null;
    const isSame = owners.length > 0 && bytes.compare(bytes, begin, end, end, end + length) === 0;
    begin = end;
    end += length;
    if (!isSame) owners.push(bytes.toString('utf8', begin, end));
    ownersAt[at] = owners.length - 1;
  }
  return end === bytes.length && isUtf8(bytes) ? owners : null;
}

/** Tells whether a byte is one that follows in UTF-8. */
function isWithinCharacter(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

/** Rows are lists here, whose places are their keys. */
function recordOf(row: Row): UnitRecord {
  const id = textValue(row[0], 'id');
  return {
    id,
    kind: choiceValue(row[1], 'kind', ['walked', 'reported']),
    host: textValue(row[2], 'host'),
    name: row[3] === null ? id : textValue(row[3], 'name'),
    owner: row[4] === null ? null : textValue(row[4], 'owner'),
    leaf: leafValue(row[5]),
    bytes: wholeValue(row[6], 'bytes'),
    files: wholeValue(row[7], 'files'),
    partial: wholeValue(row[8], 'partial') === 1,
    measuredAt: wholeValue(row[9], 'measured_at'),
    seq: wholeValue(row[10], 'seq'),
    ...reachOf(wholeValue(row[11], 'reachable'), wholeValue(row[12], 'unreachable')),
  };
}
