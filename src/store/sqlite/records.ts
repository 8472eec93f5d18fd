/**
 * Turns records into rows, and rows into records.
 *
 * The tables check what goes in (whole numbers in range, nothing missing); a leaf is checked here, in both
 * directions. Texts are not trusted: one that no record can have made is damage, never a guess.
 */

import type { DatabaseSync } from 'node:sqlite';
import { messageOf, SoftquotaError } from '../../errors.ts';
import { printable } from '../../text.ts';
import { encodeWtf8 } from '../../wtf8.ts';
import {
  type DocumentRecord,
  type EventQuery,
  type EventRecord,
  firstGone,
  type LevelRecord,
  lastGone,
  lastGoneShare,
  mostKeptEvents,
  type OwnerRecord,
  type Position,
  type ShareRecord,
} from '../record-store.ts';
import { leafValue, usageIn, usageText } from '../share.ts';
import type { Changes, DeltaRecord, RootRecord, SweepRecord, UnitRecord } from '../store.ts';
import { type ColumnsOf, column, orNull, type QueryValues, Table } from './rows.ts';

/** Units in one answer: a few milliseconds' work on both sides. */
const unitsAtOnce = 200;

/** A unit as a row. `name`: null if it is the id. `unreachable`: 0 if it has no `reach`. */
type UnitRow = Omit<UnitRecord, 'isBilledElsewhere' | 'name' | 'reach'> & {
  readonly name: string | null;
  readonly reachable: number;
  readonly unreachable: number;
};

type ShareRow = Pick<ShareRecord, 'host' | 'ownerKey'> & { readonly text: string };

const { choice, digits, flag, leaf, name, text, whole } = column;

/**
 * Prepares all statements. Returns the function that applies changes inside the caller's transaction, and the
 * handlers that read records. Throws if a table or a column is missing.
 */
export function recordsIn(db: DatabaseSync, file: string) {
  const table = <Row extends object>(named: string, columns: ColumnsOf<Row>, keys?: number) =>
    new Table<Row>(db, file, named, columns, keys);
  const units = table<UnitRow>('units', {
    id: name,
    kind: choice<UnitRecord['kind']>(),
    host: name,
    name: orNull(name),
    owner: orNull(name),
    leaf,
    bytes: whole,
    files: whole,
    partial: flag,
    measuredAt: whole,
    seq: whole,
    reachable: whole,
    unreachable: whole,
  });
  const deltas = table<DeltaRecord>('deltas', { seq: whole, owner: text, leaf, bytes: whole, at: whole });
  const type = choice<OwnerRecord['type']>();
  const owners = table<OwnerRecord>('owners', { key: name, id: whole, name, type, since: whole });
  const documents = table<DocumentRecord>('documents', { kind: text, key: text, text }, 2);
  const shares = table<ShareRow>('shares', { ownerKey: text, host: text, text }, 2);
  const adopted = table<Position>('adopted', { generation: text, version: whole, mark: text }, 0);
  const lineage = table<Omit<Position, 'generation'>>('lineage', { version: whole, mark: text });
  const fileSystem = orNull(text);
  const roots = table<RootRecord>('roots', { path: text, device: digits, inode: digits, fileSystem });
  const sweep = table<SweepRecord>('sweep', { startedAt: whole, finishedAt: whole, units: whole }, 0);
  const ofOwner = { ownerId: orNull(whole), ownerKey: orNull(text) };
  const events = table<EventRecord>('events', { id: text, kind: text, at: whole, ...ofOwner, text });
  const levels = table<LevelRecord>('levels', { ownerId: whole, text });
  const dropEvents = db.prepare('DELETE FROM events WHERE at < ?');
  const dropVersions = db.prepare('DELETE FROM lineage WHERE version < ?');
  const limitEvents = eventLimiter(db);

  function apply(changes: Changes): void {
    for (const id of changes.goneUnits ?? []) units.drop({ id });
    for (const seq of changes.goneDeltas ?? []) deltas.drop({ seq });
    for (const key of changes.goneOwners ?? []) owners.drop({ key });
    for (const gone of changes.goneDocuments ?? []) documents.drop(gone);
    for (const gone of changes.goneShares ?? []) shares.drop(gone);
    for (const path of changes.goneRoots ?? []) roots.drop({ path });
    if (changes.goneEventsBefore !== undefined) dropEvents.run(changes.goneEventsBefore);
    for (const ownerId of changes.goneLevels ?? []) levels.drop({ ownerId });
    for (const unit of changes.units ?? []) units.put(rowOfUnit(unit));
    for (const delta of changes.deltas ?? []) deltas.put(delta);
    for (const owner of changes.owners ?? []) owners.put(owner);
    for (const document of changes.documents ?? []) documents.put(document);
    for (const share of changes.shares ?? []) shares.put(rowOfShare(share));
    for (const root of changes.roots ?? []) roots.put(root);
    if (changes.replicated) {
      adopted.put(changes.replicated);
      dropVersions.run(changes.replicated.lineage?.since ?? Number.MAX_SAFE_INTEGER);
      for (const version of changes.replicated.lineage?.versions ?? []) lineage.put(version);
    }
    if (changes.sweep) sweep.put(changes.sweep);
    for (const event of changes.events ?? []) events.put(event);
    if (changes.events?.length) limitEvents(changes.events.length);
    for (const level of changes.levels ?? []) levels.put(level);
  }

  const unitsAfter = units.query('WHERE id > :after ORDER BY units.id LIMIT :most', unitOf);
  return {
    apply,
    readers: {
      deltas: deltas.query('ORDER BY seq'),
      owners: owners.query(),
      documents: documents.query(),
      shares: shares.query('', row => usageIn(row.ownerKey, row.host, row.text)),
      positions: adopted.query(),
      versions: lineage.query('ORDER BY version'),
      roots: roots.query(),
      sweeps: sweep.query(),
      levels: levels.query(),
      /**
       * Returns at most `unitsAtOnce` units after the one with this id. Bytes come after every text, so '' is
       * before all.
       */
      units: (after: string | null) =>
        unitsAfter({ after: after === null ? '' : encodeWtf8(after), most: unitsAtOnce }),
      events: eventFinder(events),
    },
  };
}

function rowOfUnit(unit: UnitRecord): UnitRow {
  const { id, name, reach } = unit;
  const [reachable, unreachable] = [reach?.reachableBytes ?? 0, reach?.unreachableBytes ?? 0];
  return { ...unit, name: name === id ? null : name, reachable, unreachable };
}

function unitOf({ reachable, unreachable, ...unit }: UnitRow): UnitRecord {
  const reach = { reachableBytes: reachable, unreachableBytes: unreachable };
  return { ...unit, name: unit.name ?? unit.id, ...(unreachable > 0 ? { reach } : {}) };
}

/** Throws `invalid` if what it writes could not be read. */
function rowOfShare(share: ShareRecord): ShareRow {
  const { ownerKey, host, bytes, unreachable } = share;
  const text = usageText(share);
  try {
    for (const leaf of Object.keys({ ...bytes, ...unreachable })) leafValue(leaf);
    usageIn(ownerKey, host, text);
  } catch (error) {
    const whose = `the share of ${printable(ownerKey)} on ${printable(host)}`;
    throw new SoftquotaError('invalid', `${whose}: ${messageOf(error)}`);
  }
  return { ownerKey, host, text };
}

const newestFirst = 'ORDER BY at DESC, id DESC LIMIT :limit';
const afterPlace = '(at, id) < (:at, :id)';

/** A place before all events. */
const first = { at: Number.MAX_SAFE_INTEGER, id: Buffer.alloc(1, 0xff) };

/** Prepares the statements that find events; throws if a column is missing. */
function eventFinder(events: Table<EventRecord>) {
  const where = (condition: string) => events.query(`WHERE ${condition} AND ${afterPlace} ${newestFirst}`);
  // Each half uses its own index: for a condition with OR, SQLite might read all events.
  const half = (condition: string) =>
    `SELECT id FROM (SELECT id FROM events WHERE ${condition} AND ${afterPlace} ${newestFirst})`;
  const ofOwner = (more: string) =>
    events.query(
      `WHERE id IN (${half(`owner_id = :ownerId${more}`)} UNION ${half(`owner_key = :ownerKey${more}`)}) ${newestFirst}`,
    );
  const all = where('TRUE');
  const ofKind = where('kind = :kind');
  const ofOwnerOnly = ofOwner('');
  const ofOwnerAndKind = ofOwner(' AND kind = :kind');

  return ({ kinds, owner, after, limit }: EventQuery): Iterable<readonly EventRecord[]> => {
    const place = after === undefined ? first : { at: after.at, id: encodeWtf8(after.id) };
    const values: QueryValues = { ...place, limit };
    if (owner !== undefined) {
      values.ownerId = owner.ownerId;
      values.ownerKey = owner.ownerKey === null ? null : encodeWtf8(owner.ownerKey);
    }
    if (kinds === undefined) return (owner === undefined ? all : ofOwnerOnly)(values);
    // The indexes are by kind, and a rare kind is not looked for among all others.
    const find = owner === undefined ? ofKind : ofOwnerAndKind;
    const found = [...new Set(kinds)].flatMap(kind =>
      [...find({ ...values, kind: encodeWtf8(kind) })].flat(),
    );
    const byPlace = (a: EventRecord, b: EventRecord) =>
      b.at - a.at || Buffer.compare(encodeWtf8(b.id), encodeWtf8(a.id));
    return [found.sort(byPlace).slice(0, limit)];
  };
}

/**
 * Limit of excess events that one write deletes beyond those that it added, so that a store with far too many
 * does not stall.
 */
const mostGoneAtOnce = 10_000;

/** Makes a function that deletes excess events, after a write of `written` events. */
function eventLimiter(db: DatabaseSync): (written: number) => void {
  const [first, last] = [firstGone, lastGone].map(kind => `CAST('${kind}' AS BLOB)`);
  const count = db.prepare('SELECT count(*) AS events FROM events');
  const share = mostKeptEvents * lastGoneShare;
  const aboveShare = `max(0, (SELECT count(*) FROM events WHERE kind = ${last}) - ${share})`;
  const drops = [
    [`kind = ${last}`, `min(?, ${aboveShare})`],
    [`kind = ${first}`, '?'],
    [`kind NOT IN (${first}, ${last})`, '?'],
    [`kind = ${last}`, '?'],
  ].map(([where, most]) =>
    db.prepare(
      `DELETE FROM events WHERE id IN (SELECT id FROM events WHERE ${where} ORDER BY at, id LIMIT ${most})`,
    ),
  );
  return written => {
    let excess = Math.min(Number(count.get()?.events) - mostKeptEvents, written + mostGoneAtOnce);
    for (const drop of drops) if (excess > 0) excess -= Number(drop.run(excess).changes);
  };
}
