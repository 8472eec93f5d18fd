/** Writes and finds events, and how near to their limits owners are. */

import type { EventQuery, EventRecord, LevelRecord, RecordChanges } from '../record-store.ts';
import { expectTypes, fenced, pairs, runFenced, runScript, script, words } from './commands.ts';
import type { RedisContext } from './context.ts';
import { eventContentIn, eventLabels, eventText, labelIn, levelIn, parseStored, sentAs } from './values.ts';

/** Events are found by their ids and labels, in the order of their times. */
export const putEvents = `
local function drop_events(events, times, labels)
  for _, label in ipairs(labels) do
    redis.call('ZREM', times, label)
    redis.call('HDEL', events, string.match(label, '^%S+'))
  end
end
local function put_events(events, times)
  local most, list = tonumber(word()), words()
  for place = list[1], list[2], 4 do
    local id, labels = ARGV[place], ARGV[place + 3]
    local before = string.match(redis.call('HGET', events, id) or '', '^{"of":"([^"]*)"')
    redis.call('HSET', events, id, ARGV[place + 1])
    redis.call('ZADD', times, ARGV[place + 2], id .. ' ' .. labels)
    if before and before ~= labels then redis.call('ZREM', times, id .. ' ' .. before) end
  end
  local excess = redis.call('ZCARD', times) - most
  if excess > 0 then drop_events(events, times, redis.call('ZRANGE', times, 0, excess - 1)) end
end`;

/** Returns the arguments that `put_events` reads. */
export function eventWords({ mostEvents }: RedisContext, { events = [] }: RecordChanges) {
  const list = events.flatMap(event => [event.id, eventText(event), String(event.at), eventLabels(event)]);
  return [String(mostEvents), ...words(list)];
}

/** KEYS: fences, events, times, levels. */
const writeScript = script(
  fenced,
  putEvents,
  expectTypes('hash', 'hash', 'zset', 'hash'),
  `
drop(KEYS[4], words())
put_events(KEYS[2], KEYS[3])
put(KEYS[4], words())
return {'kept'}`,
);

/** Takes out the oldest events of before a time, some at a time. KEYS: events, times. */
const pruneScript = script(
  putEvents,
  expectTypes('hash', 'zset'),
  `
local labels = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', '(' .. word(), 'LIMIT', 0, word())
drop_events(KEYS[1], KEYS[2], labels)
return {'kept', #labels}`,
);

/** Old events that go at a time: each takes its time while nobody else is served. */
const prunedAtOnce = 1000;

export async function writeEvents(context: RedisContext, changes: RecordChanges): Promise<void> {
  const { events, times, levels: levelsKey } = context.keys;
  const { goneEventsBefore, levels = [], goneLevels = [] } = changes;
  if (goneEventsBefore !== undefined) {
    const args = [String(goneEventsBefore), String(prunedAtOnce)];
    for (let pruned = prunedAtOnce; pruned >= prunedAtOnce; ) {
      const reply = await runScript(context, pruneScript, [events, times], args);
      pruned = Number(reply.with[0]);
    }
  }
  await runFenced(
    context,
    writeScript,
    [events, times, levelsKey],
    [
      ...words(goneLevels.map(String)),
      ...eventWords(context, changes),
      ...words(levels.flatMap(({ ownerId, text }) => [String(ownerId), sentAs(text)])),
    ],
  );
}

/** Labels that are looked through at a time. */
const pageSize = 1000;

export async function readEvents(context: RedisContext, query: EventQuery): Promise<readonly EventRecord[]> {
  const { connection, keys } = context;
  const { after, limit } = query;
  const found: EventRecord[] = [];
  for (let offset = 0; found.length < limit; offset += pageSize) {
    const labels = await connection.run(client =>
      client.zrevrangebyscore(
        keys.times,
        after?.at ?? '+inf',
        '-inf',
        'WITHSCORES',
        'LIMIT',
        offset,
        pageSize,
      ),
    );
    const meant = pairs(labels)
      .map(([label, at]) => ({
        ...parseStored(connection.where, keys.times, label, () => labelIn(label)),
        at: Number(at),
      }))
      .filter(event => isMeant(event, query))
      .slice(0, limit - found.length);
    if (meant.length > 0) found.push(...(await withTexts(context, meant)));
    if (labels.length < 2 * pageSize) break;
  }
  return found;
}

function isMeant(event: Omit<EventRecord, 'text'>, { kind, owner, after }: EventQuery): boolean {
  if (kind !== undefined && event.kind !== kind) return false;
  if (after !== undefined && event.at === after.at && event.id >= after.id) return false;
  if (owner === undefined) return true;
  const isById = owner.ownerId !== null && event.ownerId === owner.ownerId;
  return isById || (owner.ownerKey !== null && event.ownerKey === owner.ownerKey);
}

async function withTexts(
  { connection, keys }: RedisContext,
  events: readonly Omit<EventRecord, 'text'>[],
): Promise<readonly EventRecord[]> {
  const values = await connection.run(client =>
    client.hmgetBuffer(keys.events, ...events.map(({ id }) => id)),
  );
  return events.flatMap((event, at) => {
    const value = values[at];
    // It may have gone between the two questions.
    if (!value) return [];
    return [
      { ...event, ...parseStored(connection.where, keys.events, event.id, () => eventContentIn(value)) },
    ];
  });
}

export async function readLevels({ connection, keys }: RedisContext): Promise<readonly LevelRecord[]> {
  const hash = await connection.run(client => client.hgetallBuffer(keys.levels));
  return Object.entries(hash).map(([name, value]) =>
    parseStored(connection.where, keys.levels, name, () => levelIn(name, value)),
  );
}
