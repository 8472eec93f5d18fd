/**
 * Records as rows, and rows as records.
 *
 * The tables check what goes in (whole numbers in range, nothing missing); a leaf is checked
 * here, in both directions. What is read is not trusted: a row that no record can have made is
 * damage, never a guess.
 */

import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite';
import { SoftquotaError } from '../../errors.ts';
import { isLeaf, type Leaf } from '../../quota/index.ts';
import type {
  DocumentRecord,
  EventRecord,
  LevelRecord,
  OwnerRecord,
  Position,
  ShareRecord,
} from '../record-store.ts';
import { departedShape } from '../shapes.ts';
import { shareIn, textOfShare } from '../share.ts';
import type { Changes, DeltaRecord, RootRecord, SweepRecord, UnitRecord, VersionRecord } from '../store.ts';
import { decodeWtf8, encodeWtf8 } from '../wtf8.ts';
import { eventStatements } from './events.ts';
import { unreadable } from './faults.ts';
import type { Chunk, Reading } from './messages.ts';

/** Rows handed over at a time: large enough to be quick, small enough that nobody waits for one. */
const chunkRows = 1000;

/** Puts in and takes out what `changes` names, inside the caller's transaction. */
export type Apply = (changes: Changes) => void;

/** The statements that writing takes, prepared once. */
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
    'REPLACE INTO units (id, kind, host, name, owner, leaf, bytes, files, partial, measured_at, seq) ' +
      'VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
  );
  const putDelta = db.prepare('REPLACE INTO deltas (seq, owner, leaf, bytes, at) VALUES (?, ?, ?, ?, ?)');
  const putOwner = db.prepare('REPLACE INTO owners (key, id, name, type, since) VALUES (?, ?, ?, ?, ?)');
  const putDocument = db.prepare('REPLACE INTO documents (kind, key, text) VALUES (?, ?, ?)');
  const putShare = db.prepare('REPLACE INTO shares (owner_key, host, text) VALUES (?, ?, ?)');
  const putReplicated = db.prepare(
    'REPLACE INTO adopted (one, generation, version, mark) VALUES (1, ?, ?, ?)',
  );
  const dropVersions = db.prepare('DELETE FROM lineage WHERE version < ?');
  const putVersion = db.prepare('REPLACE INTO lineage (version, mark, departed) VALUES (?, ?, ?)');
  const putRoot = db.prepare('REPLACE INTO roots (path, device, inode, file_system) VALUES (?, ?, ?, ?)');
  const putEvent = db.prepare(
    'REPLACE INTO events (id, kind, at, owner_id, owner_key, text) VALUES (?, ?, ?, ?, ?, ?)',
  );
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
        putVersion.run(one.version, encodeWtf8(one.mark), JSON.stringify(one.departed));
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
    for (const { ownerId, text } of changes.levels ?? []) putLevel.run(ownerId, encodeWtf8(text));
  };
}

function leafToKeep(leaf: string): Leaf {
  if (!isLeaf(leaf)) throw new SoftquotaError('invalid', `a record has the leaf ${leaf}, which there is not`);
  return leaf;
}

/** Hands what is asked for over in chunks, or throws `store_refused` at the first row that cannot be one. */
export type Read = (asked: Reading, emit: (chunk: Chunk) => void) => void;

/** The statements that reading takes; throws where a table or a column is missing. */
export function reader(db: DatabaseSync, file: string): Read {
  const units = db.prepare(
    'SELECT id, kind, host, name, owner, leaf, bytes, files, partial, measured_at, seq FROM units',
  );
  const deltas = db.prepare('SELECT seq, owner, leaf, bytes, at FROM deltas ORDER BY seq');
  const owners = db.prepare('SELECT key, id, name, type, since FROM owners');
  const documents = db.prepare('SELECT kind, key, text FROM documents');
  const shares = db.prepare('SELECT owner_key, host, text FROM shares');
  const adoptions = db.prepare('SELECT generation, version, mark FROM adopted');
  const versions = db.prepare('SELECT version, mark, departed FROM lineage ORDER BY version');
  const roots = db.prepare('SELECT path, device, inode, file_system FROM roots');
  const sweeps = db.prepare('SELECT started_at, finished_at, units FROM sweep');

  const levels = db.prepare('SELECT owner_id, text FROM levels');
  const events = eventStatements(db);

  function* chunks<T>(
    table: string,
    rows: StatementSync,
    record: (row: Row) => T,
    values: Record<string, SQLInputValue> = {},
  ): Generator<T[]> {
    let chunk: T[] = [];
    try {
      for (const row of rows.iterate(values)) {
        chunk.push(record(row));
        if (chunk.length < chunkRows) continue;
        yield chunk;
        chunk = [];
      }
    } catch (error) {
      throw unreadable(file, table, error);
    }
    yield chunk;
  }

  const load = (emit: (chunk: Chunk) => void) => {
    for (const chunk of chunks('units', units, unitOf)) emit({ units: chunk });
    for (const chunk of chunks('deltas', deltas, deltaOf)) emit({ deltas: chunk });
    for (const chunk of chunks('owners', owners, ownerOf)) emit({ owners: chunk });
    for (const chunk of chunks('documents', documents, documentOf)) emit({ documents: chunk });
    for (const chunk of chunks('shares', shares, shareOf)) emit({ shares: chunk });
    for (const [replicated = null] of chunks('adopted', adoptions, positionOf)) emit({ replicated });
    for (const chunk of chunks('lineage', versions, versionOf)) emit({ versions: chunk });
    for (const chunk of chunks('roots', roots, rootOf)) emit({ roots: chunk });
    for (const [sweep = null] of chunks('sweep', sweeps, sweepOf)) emit({ sweep });
  };

  return (asked, emit) => {
    switch (asked.ask) {
      case 'load':
        return load(emit);
      case 'levels':
        for (const chunk of chunks('levels', levels, levelOf)) emit({ levels: chunk });
        return;
      case 'events': {
        const { statement, values } = events(asked.query);
        for (const chunk of chunks('events', statement, eventOf, values)) emit({ events: chunk });
      }
    }
  };
}

type Row = Readonly<Record<string, SQLOutputValue>>;

function unitOf(row: Row): UnitRecord {
  const id = text(row, 'id');
  return {
    id,
    kind: oneOf(row, 'kind', ['walked', 'reported']),
    host: text(row, 'host'),
    name: row.name === null ? id : text(row, 'name'),
    owner: row.owner === null ? null : text(row, 'owner'),
    leaf: leaf(row),
    bytes: whole(row, 'bytes'),
    files: whole(row, 'files'),
    partial: whole(row, 'partial') === 1,
    measuredAt: whole(row, 'measured_at'),
    seq: whole(row, 'seq'),
  };
}

const deltaOf = (row: Row): DeltaRecord => ({
  seq: whole(row, 'seq'),
  owner: text(row, 'owner'),
  leaf: leaf(row),
  bytes: whole(row, 'bytes'),
  at: whole(row, 'at'),
});

const ownerOf = (row: Row): OwnerRecord => ({
  key: text(row, 'key'),
  id: whole(row, 'id'),
  name: text(row, 'name'),
  type: oneOf(row, 'type', ['user', 'organization']),
  since: whole(row, 'since'),
});

const documentOf = (row: Row): DocumentRecord => ({
  kind: text(row, 'kind'),
  key: text(row, 'key'),
  text: text(row, 'text'),
});

const eventOf = (row: Row): EventRecord => ({
  id: text(row, 'id'),
  kind: text(row, 'kind'),
  at: whole(row, 'at'),
  ownerId: row.owner_id === null ? null : whole(row, 'owner_id'),
  ownerKey: row.owner_key === null ? null : text(row, 'owner_key'),
  text: text(row, 'text'),
});

const levelOf = (row: Row): LevelRecord => ({ ownerId: whole(row, 'owner_id'), text: text(row, 'text') });

const shareOf = (row: Row): ShareRecord =>
  shareIn(text(row, 'owner_key'), text(row, 'host'), text(row, 'text'));

const positionOf = (row: Row): Position => ({
  generation: text(row, 'generation'),
  version: whole(row, 'version'),
  mark: text(row, 'mark'),
});

const versionOf = (row: Row): VersionRecord => ({
  version: whole(row, 'version'),
  mark: text(row, 'mark'),
  departed: departedShape.parse(JSON.parse(String(row.departed))),
});

const rootOf = (row: Row): RootRecord => ({
  path: text(row, 'path'),
  device: digits(row, 'device'),
  inode: digits(row, 'inode'),
  fileSystem: row.file_system === null ? null : text(row, 'file_system'),
});

const sweepOf = (row: Row): SweepRecord => ({
  startedAt: whole(row, 'started_at'),
  finishedAt: whole(row, 'finished_at'),
  units: whole(row, 'units'),
});

function text(row: Row, column: string): string {
  const value = row[column];
  const decoded = value instanceof Uint8Array ? decodeWtf8(value) : null;
  if (decoded === null) throw new TypeError(`${column} is no text`);
  return decoded;
}

function whole(row: Row, column: string): number {
  const value = row[column];
  if (!Number.isSafeInteger(value)) throw new TypeError(`${column} is no whole number`);
  return Number(value);
}

function digits(row: Row, column: string): bigint {
  const value = row[column];
  if (typeof value !== 'string' || !/^-?\d+$/.test(value)) throw new TypeError(`${column} is no number`);
  return BigInt(value);
}

function leaf(row: Row): Leaf {
  const value = row.leaf;
  if (typeof value !== 'string' || !isLeaf(value)) throw new TypeError('leaf is no leaf');
  return value;
}

function oneOf<T extends string>(row: Row, column: string, known: readonly T[]): T {
  const value = known.find(one => one === row[column]);
  if (value === undefined) throw new TypeError(`${column} is none of ${known.join(', ')}`);
  return value;
}
