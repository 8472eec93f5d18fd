/**
 * Checks, before anything is written, whether the content under the prefix is softquota's and of this schema.
 * Content of an earlier schema is taken over once no daemon of that version runs any more.
 */

import type { Redis } from 'ioredis';
import { SoftquotaError } from '../../errors.ts';
import { printable } from '../../text.ts';
import { parts } from '../../turns.ts';
import { pipeline, script, sendScript } from './commands.ts';
import { away, damaged, redisSchema, replyCode, strangeSchema } from './faults.ts';
import { type Keys, textIn } from './keys.ts';

export async function examineServer(client: Redis, prefix: string, keys: Keys, where: string): Promise<void> {
  await mustBeOfOurTypes(client, keys, where);
  if ((await client.exists(keys.policy)) === 0) return takeOver(client, prefix, keys, where);
  const found = await client.hget(keys.policy, 'schema');
  // The store was emptied at this moment, so it belongs to nobody else.
  if (found === null && (await client.exists(keys.policy)) === 0) return;
  if (found === '2') return raise(client, prefix, keys, where);
  if (found !== redisSchema) throw strangeSchema(where, keys.policy, found ?? '');
}

/** KEYS: policy. */
const raiseScript = script(`
if redis.call('HGET', KEYS[1], 'schema') == '2' then redis.call('HSET', KEYS[1], 'schema', word()) end
return {'kept'}`);

/** Takes over content of schema 2, that of 0.2, which cannot read what this version adds. */
async function raise(client: Redis, prefix: string, keys: Keys, where: string): Promise<void> {
  try {
    await mustHaveStopped(client, prefix, where);
  } catch (error) {
    // The host that runs may be one of this version, which was faster.
    if ((await client.hget(keys.policy, 'schema')) === redisSchema) return;
    throw error;
  }
  try {
    await sendScript(client, raiseScript, [keys.policy], [redisSchema]);
  } catch (error) {
    if (replyCode(error) !== 'NOPERM') throw error;
    throw away(where, 'a host that may change the policy has to start first after an update', error);
  }
}

/**
 * Rejects with `store_refused` if a key is of another type. `writer`: the host whose keys are checked, too.
 */
export async function mustBeOfOurTypes(client: Redis, keys: Keys, where: string, writer = ''): Promise<void> {
  const expected: readonly (readonly [string, string])[] = [
    [keys.policy, 'hash'],
    [keys.documents, 'hash'],
    [keys.owners, 'hash'],
    [keys.changes, 'zset'],
    [keys.usage, 'hash'],
    [keys.volatile, 'hash'],
    [keys.volatileChanges, 'zset'],
    [keys.events, 'hash'],
    [keys.times, 'zset'],
    [keys.levels, 'hash'],
    [keys.hosts, 'hash'],
    [keys.fences, 'hash'],
    [keys.usageOf(writer), 'hash'],
    [keys.usageChanges(writer), 'zset'],
    [keys.largest(writer), 'hash'],
  ];
  const types = await pipeline(client, all => {
    for (const [key] of expected) all.type(key);
    return all;
  });
  for (const [at, [key, type]] of expected.entries()) {
    const found = types[at];
    if (found !== 'none' && found !== type) throw damaged(where, key, `it is a ${found}, not a ${type}`);
  }
}

/**
 * Renames policy, owners and levels of schema 1, whose keys begin with `{PREFIX}:`, and rewrites its events.
 * Hosts report their usage anew, and write the volatile documents again that they know. KEYS: the old keys of
 * the policy, documents, owners, levels, events, places of events, then the present ones, and those that are
 * useless now.
 */
const takeOverScript = script(`
local stands = redis.call('HMGET', KEYS[1], 'schema', 'generation', 'version', 'mark', 'supersedes')
if stands[1] ~= '1' or redis.call('EXISTS', KEYS[7]) == 1 then return {'kept'} end
local schema = word()
for place = 2, 4 do
  if redis.call('EXISTS', KEYS[place]) == 1 then redis.call('RENAME', KEYS[place], KEYS[place + 6]) end
end
local all = redis.call('HGETALL', KEYS[5])
for place = 1, #all, 2 do
  local id, head, text = all[place], string.match(all[place + 1], '^([^\\n]*)\\n(.*)$')
  local sign, digits, labels = string.match(head or '', '^([np])(%d+)(.*)$')
  if digits then
    local at = tonumber(digits)
    if sign == 'n' then at = at - 9007199254740991 end
    at = string.format('%.0f', at)
    local of = string.sub(labels, 2)
    redis.call('HSET', KEYS[11], id, '{"of":"' .. of .. '","at":' .. at .. ',"text":' .. cjson.encode(text) .. '}')
    redis.call('ZADD', KEYS[12], at, id .. labels)
  end
end
redis.call('HSET', KEYS[7], 'schema', schema, 'generation', stands[2], 'version', stands[3], 'mark', stands[4],
  'supersedes', stands[5] or '[]')
redis.call('ZADD', KEYS[13], stands[3], stands[3] .. ' ' .. stands[4] .. ' *')
redis.call('HSET', KEYS[1], 'schema', schema)
for place = 14, #KEYS do redis.call('DEL', KEYS[place]) end
return {'kept'}`);

async function takeOver(client: Redis, prefix: string, keys: Keys, where: string): Promise<void> {
  const old = (name: string) => `{${prefix}}:${name}`;
  try {
    if ((await client.hget(old('policy'), 'schema')) !== '1') return;
    await mustHaveStopped(client, `{${prefix}}`, where);
    const owners = await client.zrange(old('measured'), '0', '-1');
    // Hosts report these anew.
    for (const some of parts(owners, 1000)) {
      await pipeline(client, all => {
        for (const owner of some) all.del(`${prefix}:share:{${owner}}`);
        return all;
      });
    }
    const before = ['policy', 'documents', 'owners', 'levels', 'events', 'event-places'].map(old);
    const { policy, documents, owners: known, levels, events, times, changes } = keys;
    const useless = ['events', 'event-places', 'measured', 'log', 'order', 'hosts', 'walkers', 'volatile'];
    await sendScript(
      client,
      takeOverScript,
      [...before, policy, documents, known, levels, events, times, changes, ...useless.map(old)],
      [redisSchema],
    );
  } catch (error) {
    // A user without rights to keys of schema 1 never had any.
    if (replyCode(error) !== 'NOPERM') throw error;
  }
}

/** Rejects with `store_refused` while a host of an earlier schema, whose keys begin so, is alive. */
async function mustHaveStopped(client: Redis, prefix: string, where: string): Promise<void> {
  for (const host of await client.hkeys(`${prefix}:hosts`)) {
    if ((await client.exists(`${prefix}:alive:${host}`)) === 0) continue;
    throw new SoftquotaError(
      'store_refused',
      `${where}: an older softquota runs on the host ${printable(textIn(host) ?? host)}, and cannot share what this ` +
        'one keeps. Stop it on all hosts, update them, and start them again.',
    );
  }
}
