/** Finds events, newest first, each query along an index; and deletes the excess ones. */

import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { encodeWtf8 } from '../../wtf8.ts';
import { type EventQuery, firstGone, lastGone, mostKeptEvents } from '../record-store.ts';

const columns = 'id, kind, at, owner_id, owner_key, text';
const newestFirst = 'ORDER BY at DESC, id DESC LIMIT :limit';
const afterPlace = '(at, id) < (:at, :id)';

/** A place before all events. */
const first = { at: Number.MAX_SAFE_INTEGER, id: Buffer.alloc(1, 0xff) };

type Values = Record<string, SQLInputValue>;
type Find = (query: EventQuery) => { readonly statement: StatementSync; readonly values: Values };

/** Prepares the statements that find events; throws if a column is missing. */
export function eventStatements(db: DatabaseSync): Find {
  const select = (where: string) =>
    `SELECT ${columns} FROM events WHERE ${where} AND ${afterPlace} ${newestFirst}`;
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
export function eventLimiter(db: DatabaseSync): (written: number) => void {
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
