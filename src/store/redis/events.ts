/** Finding events and levels. */

import type { EventQuery, EventRecord, LevelRecord } from '../record-store.ts';
import type { RedisContext } from './context.ts';
import { eventIn, labels, levelIn, parseStored, timeOf } from './values.ts';

/** Read at a time, where only some of what is read is wanted. */
const pageSize = 200;

export async function readEvents(context: RedisContext, query: EventQuery): Promise<readonly EventRecord[]> {
  const found = new Map<string, EventRecord>();
  for (const label of labelsOf(query)) {
    for (const event of await along(context, label, query)) found.set(event.id, event);
  }
  return [...found.values()].sort(newestFirst).slice(0, query.limit);
}

/** The orders in which all that is asked for stands. */
function labelsOf({ kind, owner }: EventQuery): readonly string[] {
  if (owner === undefined) return [kind === undefined ? 'all' : labels.kind(kind)];
  const { ownerId, ownerKey } = owner;
  return [
    ...(ownerId === null ? [] : [labels.ownerId(ownerId)]),
    ...(ownerKey === null ? [] : [labels.ownerKey(ownerKey)]),
  ];
}

/** The first of one order. */
async function along(
  { connection, keys: { events, places } }: RedisContext,
  label: string,
  { kind, after, limit }: EventQuery,
): Promise<readonly EventRecord[]> {
  const found: EventRecord[] = [];
  // "!" comes right after the space that ends a label.
  let last = after === undefined ? `(${label}!` : `(${label} ${timeOf(after.at)} ${after.id}`;
  for (;;) {
    const members = await connection.run(client =>
      client.zrevrangebylex(places, last, `[${label} `, 'LIMIT', 0, Math.min(limit, pageSize)),
    );
    const end = members.at(-1);
    if (end === undefined) return found;
    const ids = members.map(member => /^\S+ \S+ (.*)$/s.exec(member)?.[1] ?? '');
    const values = await connection.run(client => client.hmgetBuffer(events, ...ids));
    for (const [at, id] of ids.entries()) {
      const value = values[at];
      // It may have gone between the two questions.
      if (!value) continue;
      const event = parseStored(connection.where, events, id, () => eventIn(id, value));
      if (kind === undefined || event.kind === kind) found.push(event);
      if (found.length === limit) return found;
    }
    last = `(${end}`;
  }
}

/** Ids are in ASCII, where the order of Redis is that of JavaScript. */
function newestFirst(a: EventRecord, b: EventRecord): number {
  return b.at - a.at || (a.id < b.id ? 1 : -1);
}

export async function readLevels({
  connection,
  keys: { levels },
}: RedisContext): Promise<readonly LevelRecord[]> {
  const hash = await connection.run(client => client.hgetallBuffer(levels));
  return Object.entries(hash).map(([name, value]) =>
    parseStored(connection.where, levels, name, () => levelIn(name, value)),
  );
}
