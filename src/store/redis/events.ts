/** Writes and finds events, and the levels of owners' usage. */

import { z } from 'zod';
import {
  type EventQuery,
  type EventRecord,
  firstGone,
  type LevelRecord,
  lastGone,
  lastGoneShare,
  type RecordChanges,
} from '../record-store.ts';
import { whole } from '../shared.ts';
import { expectTypes, fenced, pairs, runFenced, runScript, script, words } from './commands.ts';
import type { RedisContext } from './connection.ts';
import { decodeFieldName, fieldName, numberIn, parseStored, sentAs, textOf } from './keys.ts';
import { scanFields } from './policy.ts';

/**
 * Puts events, which are found by their ids and labels, in the order of their times. If there are too many,
 * one in a hundred is deleted at once, since the search for those that go first may have to read all labels.
 */
export const putEvents = `
local function drop_events(events, times, labels)
  for _, label in ipairs(labels) do
    redis.call('ZREM', times, label)
    redis.call('HDEL', events, string.match(label, '^%S+'))
  end
end
local function is_first_gone(label) return string.match(label, '^%S+ kind=(%S*)') == '${firstGone}' end
local function is_last_gone(label) return string.match(label, '^%S+ kind=(%S*)') == '${lastGone}' end
local function is_not_last_gone(label) return not is_last_gone(label) end
local function oldest(times, most, is_gone)
  local gone = {}
  local from = 0
  while #gone < most do
    local labels = redis.call('ZRANGE', times, from, from + 999)
    for _, label in ipairs(labels) do
      if #gone < most and is_gone(label) then gone[#gone + 1] = label end
    end
    if #labels < 1000 then break end
    from = from + 1000
  end
  return gone
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
  local total = redis.call('ZCARD', times)
  if total <= most then return end
  local excess = total - most + math.floor(most / 100)
  local function drop_oldest(limit, is_gone)
    local gone = oldest(times, math.min(limit, excess), is_gone)
    drop_events(events, times, gone)
    excess = excess - #gone
  end
  local room = total - math.floor(most * ${lastGoneShare})
  drop_oldest(room - #oldest(times, room, is_not_last_gone), is_last_gone)
  for _, is_gone in ipairs({is_first_gone, is_not_last_gone, is_last_gone}) do drop_oldest(excess, is_gone) end
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

/**
 * Deletes the oldest events before a time, some at a time. They have to be that old by the clock of Redis,
 * too, so that a host whose clock is ahead deletes nothing early. KEYS: events, times.
 */
const pruneScript = script(
  putEvents,
  expectTypes('hash', 'zset'),
  `
local before, age, most = tonumber(word()), tonumber(word()), word()
before = math.min(before, redis.call('TIME')[1] * 1000 + 999 - age)
local labels = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', '(' .. string.format('%.0f', before), 'LIMIT', 0, most)
drop_events(KEYS[1], KEYS[2], labels)
return {'kept', #labels}`,
);

/** Old events that are deleted at a time, since nobody else is served meanwhile. */
const prunedAtOnce = 1000;

export async function writeEvents(context: RedisContext, changes: RecordChanges): Promise<void> {
  const { events, times, levels: levelsKey } = context.keys;
  const { goneEventsBefore, levels = [], goneLevels = [] } = changes;
  if (goneEventsBefore !== undefined) {
    const args = [goneEventsBefore, Date.now() - goneEventsBefore, prunedAtOnce].map(String);
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

/** Labels that are read at a time. */
const pageSize = 1000;

export async function readEvents(context: RedisContext, query: EventQuery): Promise<readonly EventRecord[]> {
  const { connection, keys } = context;
  const { after, limit } = query;
  const found: EventRecord[] = [];
  const ids = new Set<string>();
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
      // Events that came since the last page move what was on it into this one.
      .filter(event => isMeant(event, query) && !ids.has(event.id))
      .slice(0, limit - found.length);
    for (const { id } of meant) ids.add(id);
    if (meant.length > 0) found.push(...(await withTexts(context, meant)));
    if (labels.length < 2 * pageSize) break;
  }
  return found;
}

function isMeant(event: Omit<EventRecord, 'text'>, { kinds, owner, after }: EventQuery): boolean {
  if (kinds?.includes(event.kind) === false) return false;
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
    // The event may have been deleted between the two reads.
    if (!value) return [];
    return [
      { ...event, ...parseStored(connection.where, keys.events, event.id, () => eventContentIn(value)) },
    ];
  });
}

export async function readLevels({ connection, keys }: RedisContext): Promise<readonly LevelRecord[]> {
  // A scan may find a field twice.
  const levels = new Map<string, LevelRecord>();
  for await (const page of scanFields({ connection }, keys.levels)) {
    for (const [name, value] of page) {
      levels.set(
        name,
        parseStored(connection.where, keys.levels, name, () => levelIn(name, value)),
      );
    }
  }
  return [...levels.values()];
}

function levelIn(name: string, value: Buffer): LevelRecord {
  return { ownerId: numberIn(name), text: textOf(value) };
}

const eventContent = z.strictObject({ of: z.string(), at: whole, text: z.string() });

/** Makes the labels of an event in `PREFIX:events:times`, by which it is found without reading its text. */
function eventLabels({ kind, ownerId, ownerKey }: EventRecord): string {
  const owner = ownerId === null ? '' : ` owner-id=${ownerId}`;
  const key = ownerKey === null ? '' : ` owner-key=${fieldName(ownerKey)}`;
  return `kind=${fieldName(kind)}${owner}${key}`;
}

const label =
  /^(?<id>\S+) kind=(?<kind>\S*)(?: owner-id=(?<ownerId>-?\d+))?(?: owner-key=(?<ownerKey>\S*))?$/;

/** Reads an event's id and labels; throws for any other text. */
function labelIn(text: string): Omit<EventRecord, 'at' | 'text'> {
  const { id, kind, ownerId, ownerKey } = label.exec(text)?.groups ?? {};
  if (id === undefined || kind === undefined) throw new TypeError('no event');
  return {
    id,
    kind: decodeFieldName(kind),
    ownerId: ownerId === undefined ? null : numberIn(ownerId),
    ownerKey: ownerKey === undefined ? null : decodeFieldName(ownerKey),
  };
}

/** Makes the JSON of an event. The labels come first, where scripts expect them. */
function eventText(event: EventRecord): string {
  return JSON.stringify({ of: eventLabels(event), at: event.at, text: event.text });
}

/** Reads what `eventText` made; throws for any other text. */
function eventContentIn(value: Buffer): Pick<EventRecord, 'at' | 'text'> {
  const { at, text } = eventContent.parse(JSON.parse(value.toString()));
  return { at, text };
}
