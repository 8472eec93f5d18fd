/** Scripts that change policy, owners, events and levels (see lua.ts). */

import { expectTypes, logging, ordering, replicasOf, script, serverLua } from './lua.ts';

/**
 * Events: in one sorted set stand their places in every order that is asked for, "LABEL TIME ID", the label
 * `all` among them; the first line of an event itself is "TIME LABEL LABEL ...". Expects KEYS 1 to 3 to be
 * events, places, levels.
 */
const records = `
local events, places, levels = KEYS[1], KEYS[2], KEYS[3]
local function members(id, value)
  local found, time = {}, nil
  for piece in string.gmatch(string.match(value, '^[^\\n]*'), '%S+') do
    if not time then time = piece; piece = 'all' end
    found[#found + 1] = piece .. ' ' .. time .. ' ' .. id
  end
  return found
end
local function drop_event(id)
  local value = redis.call('HGET', events, id)
  if not value then return end
  for _, member in ipairs(members(id, value)) do redis.call('ZREM', places, member) end
  redis.call('HDEL', events, id)
end
local function put_event(id, value)
  drop_event(id)
  redis.call('HSET', events, id, value)
  for _, member in ipairs(members(id, value)) do redis.call('ZADD', places, 0, member) end
end
local function drop_oldest(last, most)
  local oldest = redis.call('ZRANGEBYLEX', places, '[all ', last, 'LIMIT', 0, most)
  for _, member in ipairs(oldest) do
    redis.call('ZREM', places, member)
    drop_event(string.match(member, '^%S+ %S+ (.*)$'))
  end
  return #oldest
end
local function put_events(list, most)
  for place = list[1], list[2], 2 do put_event(ARGV[place], ARGV[place + 1]) end
  local excess = redis.call('HLEN', events) - most
  if excess > 0 then drop_oldest('(all!', excess) end
end
local function record()
  local most, before = tonumber(word()), word()
  if before ~= '' then drop_oldest('(all ' .. before, -1) end
  drop(levels, words())
  put_events(words(), most)
  put(levels, words())
end`;

/** Events and levels alone, unless the writer has written later ones. KEYS: events, places, levels, order. */
export const record = script(
  records,
  expectTypes('hash', 'zset', 'hash', 'hash'),
  `
local writer, number = word(), word()
local before = redis.call('HGET', KEYS[4], 'recorded ' .. writer)
if before and tonumber(before) > tonumber(number) then return {'stale', before} end
record()
if writer ~= '' then redis.call('HSET', KEYS[4], 'recorded ' .. writer, number) end
return {'kept'}`,
);

/** The oldest events, those of before a time, a number of them at a time. KEYS: events, places, levels. */
export const prune = script(
  records,
  expectTypes('hash', 'zset', 'hash'),
  `
local before, most = word(), tonumber(word())
return {'kept', drop_oldest('(all ' .. before, most)}`,
);

/**
 * Begins a change of policy to a position. One that too few replicas would get is not written at all: a
 * master that was cut off, or was one, goes on alone. Expects the types of its KEYS to be checked, and the
 * locals `policy` and `log`.
 */
const begin = `
${replicasOf}
local schema = redis.call('HGET', policy, 'schema')
if schema ~= '1' and (schema or redis.call('EXISTS', policy) == 1) then return {'schema', schema or '', policy} end
local wanted, there = tonumber(word()), replicas()
if there and there < wanted then return {'few', there} end
local news, generation, version, mark = word(), word(), word(), word()
local stands = redis.call('HMGET', policy, 'generation', 'version', 'mark')
local function stands_at(generation, version, mark)
  return stands[1] == generation and stands[2] == version and stands[3] == mark
end
local function put_position(...)
  redis.call('HSET', policy, 'schema', '1', 'generation', generation, 'version', version, 'mark', mark, ...)
  -- Release 0.1 counts by these where they are there.
  redis.call('HDEL', policy, 'policy_version', 'policy_mark', 'account_version', 'account_mark')
end
local function append_change(version, mark, change)
  append(log, news, 'is', 'policy', 'generation', generation, 'version', version, 'mark', mark, 'change', change)
end`;

/** KEYS: events, places, levels, policy, documents, owners, log, order. */
const policyKeys = `
local policy, documents, owners, log, order = KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8]
${expectTypes('hash', 'zset', 'hash', 'hash', 'hash', 'hash', 'stream', 'hash')}
${begin}
local change = word()`;

const policyChange = `
put_position()
drop(owners, gone_owners)
drop(documents, words())
put(owners, new_owners)
put(documents, words())
record()
if gone_owners[1] <= gone_owners[2] then redis.call('HSET', order, 'departed', next_number(order, 0)) end
append_change(version, mark, change)
return {'kept', version}`;

/** A change that goes on from where the policy stands, whatever that is. */
export const write = script(
  logging,
  ordering,
  records,
  policyKeys,
  `
if stands[1] then
  generation = stands[1]
  version = string.format('%.0f', stands[2] + 1)
end
local gone_owners, new_owners = words(), words()`,
  policyChange,
);

/** KEYS: order, which only says where. */
export const server = script(serverLua, `return {'kept', server()}`);

/**
 * A change that goes on from where the policy stands, of owners that are who they are taken for, on the
 * server that is meant.
 */
export const commit = script(
  logging,
  ordering,
  records,
  serverLua,
  policyKeys,
  `
if not stands_at(word(), word(), word()) then return {'conflict'} end
version = string.format('%.0f', stands[2] + 1)
local meant = word()
if meant ~= '' and meant ~= server() then return {'conflict'} end
local gone_owners, new_owners = words(), words()
local is_gone = {}
for place = gone_owners[1], gone_owners[2] do
  if redis.call('HEXISTS', owners, ARGV[place]) == 0 then return {'conflict'} end
  is_gone[ARGV[place]] = true
end
for place = new_owners[1], new_owners[2], 2 do
  local there = not is_gone[ARGV[place]] and redis.call('HGET', owners, ARGV[place])
  local id = '^{"id":(-?%d+)'
  if there and string.match(there, id) ~= string.match(ARGV[place + 1], id) then return {'conflict'} end
end`,
  policyChange,
);

/**
 * Changes that were lost, in one; each of the positions that it leads through is told, so that whoever knows
 * one finds it.
 */
export const restore = script(
  logging,
  ordering,
  records,
  policyKeys,
  `
if not stands_at(word(), word(), word()) then return {'conflict'} end
local through = words()
for place = through[1], through[2], 2 do append_change(ARGV[place], ARGV[place + 1], '') end
local gone_owners, new_owners = words(), words()`,
  policyChange,
);

/** Part of a policy on its way. KEYS: where it lies until then. */
export const stage = script(
  `
put(KEYS[1], words())
redis.call('PEXPIRE', KEYS[1], word())
return {'kept'}`,
);

/**
 * A command that the user may not be allowed is tried first, on a key that is never there: else a policy
 * would have a place, and not its documents. KEYS: policy, documents, owners, log, staged documents, staged
 * owners, order, a key that is not there.
 */
export const replace = script(
  logging,
  ordering,
  expectTypes('hash', 'hash', 'hash', 'stream', 'hash', 'hash', 'hash'),
  `
local policy, log, order = KEYS[1], KEYS[4], KEYS[7]
${begin}
local supersedes = word()
local basis = words()
if basis[2] < basis[1] then
  if stands[1] then return {'conflict'} end
else
  local at = basis[1]
  if not stands_at(ARGV[at], ARGV[at + 1], ARGV[at + 2]) then return {'conflict'} end
end
for place = 5, 6 do
  if redis.call('HLEN', KEYS[place]) ~= tonumber(word()) then return {'lost', KEYS[place]} end
end
local spare = KEYS[8]
redis.call('UNLINK', spare)
redis.call('PERSIST', spare)
local may_rename = redis.pcall('RENAME', spare, spare)
if not string.find(may_rename.err, 'no such key') then return may_rename end
put_position('supersedes', supersedes)
for place = 5, 6 do
  redis.call('UNLINK', KEYS[place - 3])
  if redis.call('EXISTS', KEYS[place]) == 1 then
    redis.call('RENAME', KEYS[place], KEYS[place - 3])
    redis.call('PERSIST', KEYS[place - 3])
  end
end
redis.call('HSET', order, 'departed', next_number(order, 0))
append_change(version, mark, '')
return {'kept'}`,
);

/** Volatile documents, whatever is there. KEYS: volatile, log. */
export const writeVolatile = script(
  logging,
  expectTypes('hash', 'stream'),
  `
local news, names = word(), word()
redis.call('HSET', KEYS[1], '.', '1')
drop(KEYS[1], words())
put(KEYS[1], words())
append(KEYS[2], news, 'is', 'volatile', 'names', names)
return {'kept'}`,
);

/**
 * Gives who was there before, names and records by turns. `stale`: owners were taken out since the number
 * was given, these perhaps among them. KEYS: owners, log, order.
 */
export const enroll = script(
  logging,
  expectTypes('hash', 'stream', 'hash'),
  `
local news, number, list = word(), word(), words()
local departed = redis.call('HGET', KEYS[3], 'departed')
if departed and tonumber(departed) > tonumber(number) then return {'stale', departed} end
local there, new = {'kept'}, {}
for place = list[1], list[2], 2 do
  local name, value = ARGV[place], ARGV[place + 1]
  local before = redis.call('HGET', KEYS[1], name)
  if before then
    there[#there + 1] = name
    there[#there + 1] = before
  else
    redis.call('HSET', KEYS[1], name, value)
    new[#new + 1] = name .. ' ' .. value
  end
end
if #new > 0 then append(KEYS[2], news, 'is', 'owners', 'owners', table.concat(new, '\\n')) end
return there`,
);
