/** Finding events: newest first, each question answered along an index; and deleting those beyond their number. */

import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { encodeWtf8 } from '../../wtf8.ts';
import { type EventQuery, firstGone, lastGone, mostKeptEvents } from '../record-store.ts';

const columns = 'id, kind, at, owner_id, owner_key, text';
const newestFirst = 'ORDER BY at DESC, id DESC LIMIT :limit';
const afterPlace = '(at, id) < (:at, :id)';

/** Before all that there can be. */
const first = { at: Number.MAX_SAFE_INTEGER, id: Buffer.alloc(1, 0xff) };

type Values = Record<string, SQLInputValue>;
type Find = (query: EventQuery) => { readonly statement: StatementSync; readonly values: Values };

/** The statements that it takes; throws where a column is missing. */
export function eventStatements(db: DatabaseSync): Find {
  const select = (where: string) =>
    `SELECT ${columns} FROM events WHERE ${where} AND ${afterPlace} ${newestFirst}`;
  // Each half along its own index: of a condition with OR, SQLite might read all events there are.
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

/** More events than came that go in one write: a store that has far too many is not held up by it for long. */
const mostGoneAtOnce = 10_000;

/** Makes what deletes events that are too many, after a write of so many events. */
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
