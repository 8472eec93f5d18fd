/**
 * Turns records into rows, and rows into records.
 *
 * The tables check what goes in (whole numbers in range, nothing missing); a leaf is checked here, in both
 * directions. Rows are not trusted: a row that no record can have made is damage, never a guess.
 */

import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { SoftquotaError } from '../../errors.ts';
import { isLeaf, type Leaf } from '../../quota/index.ts';
import { encodeWtf8 } from '../../wtf8.ts';
import {
  type DocumentRecord,
  type EventQuery,
  type EventRecord,
  firstGone,
  type LevelRecord,
  lastGone,
  mostKeptEvents,
  type OwnerRecord,
  type Position,
  type ShareRecord,
} from '../record-store.ts';
import { shareIn, textOfShare } from '../share.ts';
import type { Changes, DeltaRecord, RootRecord, SweepRecord, UnitRecord, VersionRecord } from '../store.ts';
import { choiceValue, leafValue, wholeValue } from '../untrusted.ts';
import { asText, chunksOf, digitsValue, type TableRow, textValue, unitsAtOnce } from './rows.ts';

/** Applies changes inside the caller's transaction. */
type Apply = (changes: Changes) => void;

/** Prepares the statements for writing, and returns the function that applies changes. */
export function writer(db: DatabaseSync): Apply {
  const dropUnit = db.prepare('DELETE FROM units WHERE id = ?');
  const dropDelta = db.prepare('DELETE FROM deltas WHERE seq = ?');
  const dropOwner = db.prepare('DELETE FROM owners WHERE key = ?');
  const dropDocument = db.prepare('DELETE FROM documents WHERE kind = ? AND key = ?');
  const dropShare = db.prepare('DELETE FROM shares WHERE owner_key = ? AND host = ?');
  const dropEvents = db.prepare('DELETE FROM events WHERE at < ?');
  const dropLevel = db.prepare('DELETE FROM levels WHERE owner_id = ?');
  const dropRoot = db.prepare('DELETE FROM roots WHERE path = ?');
  const putUnit = db.prepare(
    'REPLACE INTO units (id, kind, host, name, owner, leaf, bytes, files, partial, measured_at, seq, ' +
      'reachable, unreachable) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
  );
  const putDelta = db.prepare('REPLACE INTO deltas (seq, owner, leaf, bytes, at) VALUES (?, ?, ?, ?, ?)');
  const putOwner = db.prepare('REPLACE INTO owners (key, id, name, type, since) VALUES (?, ?, ?, ?, ?)');
  const putDocument = db.prepare('REPLACE INTO documents (kind, key, text) VALUES (?, ?, ?)');
  const putShare = db.prepare('REPLACE INTO shares (owner_key, host, text) VALUES (?, ?, ?)');
  const putReplicated = db.prepare(
    'REPLACE INTO adopted (one, generation, version, mark) VALUES (1, ?, ?, ?)',
  );
  const dropVersions = db.prepare('DELETE FROM lineage WHERE version < ?');
  const putVersion = db.prepare('REPLACE INTO lineage (version, mark) VALUES (?, ?)');
  const putRoot = db.prepare('REPLACE INTO roots (path, device, inode, file_system) VALUES (?, ?, ?, ?)');
  const putEvent = db.prepare(
    'REPLACE INTO events (id, kind, at, owner_id, owner_key, text) VALUES (?, ?, ?, ?, ?, ?)',
  );
  const limitEvents = eventLimiter(db);
  const putLevel = db.prepare('REPLACE INTO levels (owner_id, text) VALUES (?, ?)');
  const putSweep = db.prepare('REPLACE INTO sweep (one, started_at, finished_at, units) VALUES (1, ?, ?, ?)');

  return changes => {
    for (const id of changes.goneUnits ?? []) dropUnit.run(encodeWtf8(id));
    for (const seq of changes.goneDeltas ?? []) dropDelta.run(seq);
    for (const key of changes.goneOwners ?? []) dropOwner.run(encodeWtf8(key));
    for (const { kind, key } of changes.goneDocuments ?? []) {
      dropDocument.run(encodeWtf8(kind), encodeWtf8(key));
    }
    for (const { ownerKey, host } of changes.goneShares ?? []) {
      dropShare.run(encodeWtf8(ownerKey), encodeWtf8(host));
    }
    for (const path of changes.goneRoots ?? []) dropRoot.run(encodeWtf8(path));
    if (changes.goneEventsBefore !== undefined) dropEvents.run(changes.goneEventsBefore);
    for (const ownerId of changes.goneLevels ?? []) dropLevel.run(ownerId);
    for (const unit of changes.units ?? []) {
      putUnit.run(
        encodeWtf8(unit.id),
        unit.kind,
        encodeWtf8(unit.host),
        unit.name === unit.id ? null : encodeWtf8(unit.name),
        unit.owner === null ? null : encodeWtf8(unit.owner),
        leafToKeep(unit.leaf),
        unit.bytes,
        unit.files,
        Number(unit.partial),
        unit.measuredAt,
        unit.seq,
        unit.reach?.reachableBytes ?? 0,
        unit.reach?.unreachableBytes ?? 0,
      );
    }
    for (const { seq, owner, leaf, bytes, at } of changes.deltas ?? []) {
      putDelta.run(seq, encodeWtf8(owner), leafToKeep(leaf), bytes, at);
    }
    for (const { key, id, name, type, since } of changes.owners ?? []) {
      putOwner.run(encodeWtf8(key), id, encodeWtf8(name), type, since);
    }
    for (const { kind, key, text } of changes.documents ?? []) {
      putDocument.run(encodeWtf8(kind), encodeWtf8(key), encodeWtf8(text));
    }
    for (const share of changes.shares ?? []) {
      putShare.run(encodeWtf8(share.ownerKey), encodeWtf8(share.host), encodeWtf8(textOfShare(share)));
    }
    if (changes.replicated) {
      const { generation, version, mark, lineage } = changes.replicated;
      putReplicated.run(encodeWtf8(generation), version, encodeWtf8(mark));
      dropVersions.run(lineage?.since ?? Number.MAX_SAFE_INTEGER);
      for (const one of lineage?.versions ?? []) {
        putVersion.run(one.version, encodeWtf8(one.mark));
      }
    }
    for (const { path, device, inode, fileSystem } of changes.roots ?? []) {
      const marks = fileSystem === null ? null : encodeWtf8(fileSystem);
      putRoot.run(encodeWtf8(path), device.toString(), inode.toString(), marks);
    }
    if (changes.sweep) {
      putSweep.run(changes.sweep.startedAt, changes.sweep.finishedAt, changes.sweep.units);
    }
    for (const { id, kind, at, ownerId, ownerKey, text } of changes.events ?? []) {
      const key = ownerKey === null ? null : encodeWtf8(ownerKey);
      putEvent.run(encodeWtf8(id), encodeWtf8(kind), at, ownerId, key, encodeWtf8(text));
    }

    if (changes.events?.length) limitEvents(changes.events.length);
    for (const { ownerId, text } of changes.levels ?? []) putLevel.run(ownerId, encodeWtf8(text));
  };
}

function leafToKeep(leaf: string): Leaf {
  if (!isLeaf(leaf)) throw new SoftquotaError('invalid', `a record has the leaf ${leaf}, which there is not`);
  return leaf;
}

/** Makes the handlers that read records. Throws if a table or a column is missing. */
export function reader(db: DatabaseSync, file: string) {
  const units = db.prepare(
    `SELECT ${asText('id')}, kind, ${asText('host')}, ${asText('name')}, ${asText('owner')}, leaf, bytes, files, ` +
      'partial, measured_at, seq, reachable, unreachable FROM units WHERE id > ? ORDER BY units.id LIMIT ?',
  );
  const findEvents = eventStatements(db);

  function all<T>(table: string, columns: string, record: (row: TableRow) => T, order = '') {
    const rows = db.prepare(`SELECT ${columns} FROM ${table} ${order}`);
    return () => chunksOf({ file, table }, rows.iterate(), record);
  }

  return {
    deltas: all('deltas', 'seq, owner, leaf, bytes, at', deltaOf, 'ORDER BY seq'),
    owners: all('owners', `${asText('key')}, id, ${asText('name')}, type, since`, ownerOf),
    documents: all('documents', 'kind, key, text', documentOf),
    shares: all('shares', 'owner_key, host, text', shareOf),
    positions: all('adopted', 'generation, version, mark', positionOf),
    versions: all('lineage', 'version, mark', versionOf, 'ORDER BY version'),
    roots: all('roots', 'path, device, inode, file_system', rootOf),
    sweeps: all('sweep', 'started_at, finished_at, units', sweepOf),
    levels: all('levels', 'owner_id, text', levelOf),
    /**
     * Returns at most `unitsAtOnce` units after the one with this id. Bytes come after every text, so '' is
     * before all.
     */
    units: (after: string | null) =>
      chunksOf(
        { file, table: 'units' },
        units.iterate(after === null ? '' : encodeWtf8(after), unitsAtOnce),
        unitOf,
      ),
    events: (query: EventQuery) => {
      const { statement, values } = findEvents(query);
      return chunksOf({ file, table: 'events' }, statement.iterate(values), eventOf);
    },
  };
}

function unitOf(row: TableRow): UnitRecord {
  const id = textValue(row.id, 'id');
  const unreachableBytes = wholeValue(row.unreachable, 'unreachable');
  const reach = { reachableBytes: wholeValue(row.reachable, 'reachable'), unreachableBytes };
  return {
    id,
    kind: choiceValue(row.kind, 'kind', ['walked', 'reported']),
    host: textValue(row.host, 'host'),
    name: row.name === null ? id : textValue(row.name, 'name'),
    owner: row.owner === null ? null : textValue(row.owner, 'owner'),
    leaf: leafValue(row.leaf),
    bytes: wholeValue(row.bytes, 'bytes'),
    files: wholeValue(row.files, 'files'),
    partial: wholeValue(row.partial, 'partial') === 1,
    measuredAt: wholeValue(row.measured_at, 'measured_at'),
    seq: wholeValue(row.seq, 'seq'),
    ...(unreachableBytes > 0 ? { reach } : {}),
  };
}

const ownerOf = (row: TableRow): OwnerRecord => ({
  key: textValue(row.key, 'key'),
  id: wholeValue(row.id, 'id'),
  name: textValue(row.name, 'name'),
  type: choiceValue(row.type, 'type', ['user', 'organization']),
  since: wholeValue(row.since, 'since'),
});

const deltaOf = (row: TableRow): DeltaRecord => ({
  seq: wholeValue(row.seq, 'seq'),
  owner: textValue(row.owner, 'owner'),
  leaf: leafValue(row.leaf),
  bytes: wholeValue(row.bytes, 'bytes'),
  at: wholeValue(row.at, 'at'),
});

const documentOf = (row: TableRow): DocumentRecord => ({
  kind: textValue(row.kind, 'kind'),
  key: textValue(row.key, 'key'),
  text: textValue(row.text, 'text'),
});

const eventOf = (row: TableRow): EventRecord => ({
  id: textValue(row.id, 'id'),
  kind: textValue(row.kind, 'kind'),
  at: wholeValue(row.at, 'at'),
  ownerId: row.owner_id === null ? null : wholeValue(row.owner_id, 'owner_id'),
  ownerKey: row.owner_key === null ? null : textValue(row.owner_key, 'owner_key'),
  text: textValue(row.text, 'text'),
});

const levelOf = (row: TableRow): LevelRecord => ({
  ownerId: wholeValue(row.owner_id, 'owner_id'),
  text: textValue(row.text, 'text'),
});

const shareOf = (row: TableRow): ShareRecord =>
  shareIn(textValue(row.owner_key, 'owner_key'), textValue(row.host, 'host'), textValue(row.text, 'text'));

const positionOf = (row: TableRow): Position => ({
  generation: textValue(row.generation, 'generation'),
  version: wholeValue(row.version, 'version'),
  mark: textValue(row.mark, 'mark'),
});

const versionOf = (row: TableRow): VersionRecord => ({
  version: wholeValue(row.version, 'version'),
  mark: textValue(row.mark, 'mark'),
});

const rootOf = (row: TableRow): RootRecord => ({
  path: textValue(row.path, 'path'),
  device: digitsValue(row.device, 'device'),
  inode: digitsValue(row.inode, 'inode'),
  fileSystem: row.file_system === null ? null : textValue(row.file_system, 'file_system'),
});

const sweepOf = (row: TableRow): SweepRecord => ({
  startedAt: wholeValue(row.started_at, 'started_at'),
  finishedAt: wholeValue(row.finished_at, 'finished_at'),
  units: wholeValue(row.units, 'units'),
});

const eventColumns = 'id, kind, at, owner_id, owner_key, text';
const newestFirst = 'ORDER BY at DESC, id DESC LIMIT :limit';
const afterPlace = '(at, id) < (:at, :id)';

/** A place before all events. */
const first = { at: Number.MAX_SAFE_INTEGER, id: Buffer.alloc(1, 0xff) };

type Values = Record<string, SQLInputValue>;
type Find = (query: EventQuery) => { readonly statement: StatementSync; readonly values: Values };

/** Prepares the statements that find events; throws if a column is missing. */
function eventStatements(db: DatabaseSync): Find {
  const select = (where: string) =>
    `SELECT ${eventColumns} FROM events WHERE ${where} AND ${afterPlace} ${newestFirst}`;
  // Each half uses its own index: for a condition with OR, SQLite might read all events.
  const ofOwner = (where: string) =>
    db.prepare(
      `SELECT * FROM (SELECT * FROM (${select(`owner_id = :ownerId${where}`)})
        UNION SELECT * FROM (${select(`owner_key = :ownerKey${where}`)})) ${newestFirst}`,
    );
  const all = db.prepare(select('TRUE'));
  const ofKind = db.prepare(select('kind = :kind'));
  const ofOwnerOnly = ofOwner('');
  const ofOwnerAndKind = ofOwner(' AND kind = :kind');

  return ({ kind, owner, after, limit }) => {
    const place = after === undefined ? first : { at: after.at, id: encodeWtf8(after.id) };
    const values: Values = { ...place, limit };
    if (kind !== undefined) values.kind = encodeWtf8(kind);
    if (owner === undefined) return { statement: kind === undefined ? all : ofKind, values };
    values.ownerId = owner.ownerId;
    values.ownerKey = owner.ownerKey === null ? null : encodeWtf8(owner.ownerKey);
    return { statement: kind === undefined ? ofOwnerOnly : ofOwnerAndKind, values };
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
  const drops = [`kind = ${first}`, `kind NOT IN (${first}, ${last})`, `kind = ${last}`].map(where =>
    db.prepare(
      `DELETE FROM events WHERE id IN (SELECT id FROM events WHERE ${where} ORDER BY at, id LIMIT ?)`,
    ),
  );
  return written => {
    let excess = Math.min(Number(count.get()?.events) - mostKeptEvents, written + mostGoneAtOnce);
    for (const drop of drops) if (excess > 0) excess -= Number(drop.run(excess).changes);
  };
}
