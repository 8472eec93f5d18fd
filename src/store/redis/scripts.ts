/**
 * What Redis does in one step, in Lua.
 *
 * Every script looks first and writes then, so that one which stops has written nothing; and it puts in before it takes
 * out, as Redis asks whether there is memory left only before the first write. They answer with a word:
 * `kept`, `behind`, or `another` or `schema` with what is in the way (see asked.ts).
 *
 * Arguments come as words, or as a count and so many words. Lists are handed on in pieces, for Lua takes a few
 * thousand values at a time.
 */

import { createHash } from 'node:crypto';

export interface Script {
  readonly text: string;
  readonly sha: string;
}

function script(...parts: readonly string[]): Script {
  const text = parts.join('\n');
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}

/** Entries that the log holds at least; who has not read them for longer reads all anew. */
const logEntries = 5000;

const reading = `
local at = 0
local function word() at = at + 1; return ARGV[at] end
local function words()
  local count = tonumber(word())
  local first = at + 1
  at = at + count
  return { first, at }
end
local function pieces(list, act)
  for from = list[1], list[2], 1000 do
    act(unpack(ARGV, from, math.min(from + 999, list[2])))
  end
end
local function put(key, list) pieces(list, function(...) redis.call('HSET', key, ...) end) end
local function drop(key, list) pieces(list, function(...) redis.call('HDEL', key, ...) end) end
local function another(...)
  for place, kind in ipairs({...}) do
    local found = redis.call('TYPE', KEYS[place]).ok
    if found ~= 'none' and found ~= kind then return KEYS[place] end
  end
end
local function strange_schema(policy)
  local schema = redis.call('HGET', policy, 'schema')
  if schema == '1' or (not schema and redis.call('EXISTS', policy) == 0) then return nil end
  return schema or ''
end`;

/**
 * Numbers are microseconds, as far as the clock goes forward, and each entry names the one before: so one that was
 * lost shows, also where Redis fell back to an earlier state and has gone on from there.
 */
const logging = `
local function append(log, news, ...)
  local now = redis.call('TIME')
  local number = now[1] * 1000000 + now[2]
  local newest = redis.call('XREVRANGE', log, '+', '-', 'COUNT', 1)[1]
  local before = '0'
  if newest then
    before = string.match(newest[1], '^%d+')
    number = math.max(number, before + 1)
  end
  number = string.format('%.0f', number)
  redis.call('XADD', log, 'MAXLEN', '~', ${logEntries}, number .. '-0', 'after', before, ...)
  redis.pcall('PUBLISH', news, number)
  return number
end`;

/**
 * Events: in one sorted set stand their places in every order that is asked for, "LABEL TIME ID", the label \`all\` among
 * them; the first line of an event itself is "TIME LABEL LABEL ...". Expects KEYS 1 to 3 to be events, places, levels.
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

/** Events and levels alone. KEYS: events, places, levels. */
export const record = script(
  reading,
  records,
  `
local strange = another('hash', 'zset', 'hash')
if strange then return {'another', strange} end
record()
return {'kept'}`,
);

/** The oldest events, those of before a time, a number of them at a time. KEYS: events, places, levels. */
export const prune = script(
  reading,
  records,
  `
local strange = another('hash', 'zset', 'hash')
if strange then return {'another', strange} end
local before, most = word(), tonumber(word())
return {'kept', drop_oldest('(all ' .. before, most)}`,
);

/** KEYS: events, places, levels, policy, documents, owners, log. */
const policyKeys = `
local policy, documents, owners, log = KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local strange = another('hash', 'zset', 'hash', 'hash', 'hash', 'hash', 'stream')
if strange then return {'another', strange} end
strange = strange_schema(policy)
if strange then return {'schema', strange, policy} end
local news, generation, version, mark, change = word(), word(), word(), word(), word()
local stands = redis.call('HMGET', policy, 'generation', 'version', 'mark')`;

const policyChange = `
redis.call('HSET', policy, 'schema', '1', 'generation', generation, 'version', version, 'mark', mark)
drop(owners, gone_owners)
drop(documents, words())
put(owners, new_owners)
put(documents, words())
record()
append(log, news, 'is', 'policy', 'generation', generation, 'version', version, 'mark', mark, 'change', change)
return {'kept'}`;

/** A change that goes on from where the policy stands, whatever that is. */
export const write = script(
  reading,
  logging,
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

/** A change that goes on from \`basis\`, of owners that are who they are taken for. */
export const govern = script(
  reading,
  logging,
  records,
  policyKeys,
  `
if stands[1] ~= word() or stands[2] ~= word() or stands[3] ~= word() then return {'behind'} end
local gone_owners, new_owners = words(), words()
local is_gone = {}
for place = gone_owners[1], gone_owners[2] do
  if redis.call('HEXISTS', owners, ARGV[place]) == 0 then return {'behind'} end
  is_gone[ARGV[place]] = true
end
for place = new_owners[1], new_owners[2], 2 do
  local there = not is_gone[ARGV[place]] and redis.call('HGET', owners, ARGV[place])
  local id = '^{"id":(-?%d+)'
  if there and string.match(there, id) ~= string.match(ARGV[place + 1], id) then return {'behind'} end
end`,
  policyChange,
);

/** Part of a policy on its way. KEYS: where it lies until then. */
export const stage = script(
  reading,
  `
put(KEYS[1], words())
redis.call('PEXPIRE', KEYS[1], word())
return {'kept'}`,
);

/** KEYS: policy, documents, owners, log, staged documents, staged owners. */
export const replace = script(
  reading,
  logging,
  `
local policy, log = KEYS[1], KEYS[4]
local strange = another('hash', 'hash', 'hash', 'stream', 'hash', 'hash')
if strange then return {'another', strange} end
strange = strange_schema(policy)
if strange then return {'schema', strange, policy} end
local news, generation, version, mark, supersedes = word(), word(), word(), word(), word()
local stands = redis.call('HMGET', policy, 'generation', 'version', 'mark')
local basis = words()
if basis[2] < basis[1] then
  if stands[1] then return {'behind'} end
else
  for part = 1, 3 do
    if stands[part] ~= ARGV[basis[1] + part - 1] then return {'behind'} end
  end
end
for place = 5, 6 do
  if redis.call('HLEN', KEYS[place]) ~= tonumber(word()) then return {'lost', KEYS[place]} end
end
redis.call('HSET', policy, 'schema', '1', 'generation', generation, 'version', version, 'mark', mark,
  'supersedes', supersedes)
for place = 5, 6 do
  redis.call('UNLINK', KEYS[place - 3])
  if redis.call('EXISTS', KEYS[place]) == 1 then
    redis.call('RENAME', KEYS[place], KEYS[place - 3])
    redis.call('PERSIST', KEYS[place - 3])
  end
end
append(log, news, 'is', 'policy', 'generation', generation, 'version', version, 'mark', mark, 'change', '')
return {'kept'}`,
);

/** Gives who was there before, names and records by turns. KEYS: owners, log. */
export const enroll = script(
  reading,
  logging,
  `
local strange = another('hash', 'stream')
if strange then return {'another', strange} end
local news, list = word(), words()
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

/** What machines say of one owner: fields in, others out. KEYS: the owner's shares. */
export const share = script(
  reading,
  `
local strange = another('hash')
if strange then return {'another', strange} end
put(KEYS[1], words())
drop(KEYS[1], words())
return {'kept'}`,
);

/** These owners' shares are others now. KEYS: measured, log. */
export const note = script(
  reading,
  logging,
  `
local strange = another('zset', 'stream')
if strange then return {'another', strange} end
local news, list = word(), words()
local number = append(KEYS[2], news, 'is', 'shares', 'owners', table.concat(ARGV, ' ', list[1], list[2]))
for place = list[1], list[2] do redis.call('ZADD', KEYS[1], number, ARGV[place]) end
return {'kept'}`,
);

/** Who has no shares any more, unless somebody noted some since that number. KEYS: measured. */
export const unnote = script(
  reading,
  `
local list = words()
for place = list[1], list[2], 2 do
  if redis.call('ZSCORE', KEYS[1], ARGV[place]) == ARGV[place + 1] then redis.call('ZREM', KEYS[1], ARGV[place]) end
end
return {'kept'}`,
);

const living = `
local function life_of(value)
  return string.match(value or '', '^(%S*) (%S*) (%S*)$')
end`;

/**
 * A life that was followed by another with the same token does not come back: else two machines, one the copy of the
 * other's disk, would take turns. KEYS: alive, hosts.
 */
export const claim = script(
  reading,
  living,
  `
local strange = another('string', 'hash')
if strange then return {'another', strange} end
local host, version, token, life, expiry = word(), word(), word(), word(), word()
local owner, current, former = life_of(redis.call('GET', KEYS[1]))
if owner and owner ~= token then return {'taken'} end
if current and current ~= life then
  if former == life then return {'taken'} end
  former = current
end
local now = redis.call('TIME')
redis.call('SET', KEYS[1], token .. ' ' .. life .. ' ' .. (former or ''), 'PX', expiry)
redis.call('HSET', KEYS[2], host, string.format('{"seenAt":%.0f,"version":%s}', now[1] * 1000 + math.floor(now[2] / 1000), version))
return {'kept'}`,
);

/** KEYS: alive. */
export const release = script(
  reading,
  living,
  `
local owner, current = life_of(redis.call('GET', KEYS[1]))
if owner == word() and current == word() then redis.call('DEL', KEYS[1]) end
return {'kept'}`,
);

/** Takes a machine off the list; \`behind\`: it lives. KEYS: alive, hosts. */
export const forget = script(
  reading,
  `
if redis.call('EXISTS', KEYS[1]) == 1 then return {'behind'} end
return {'kept', redis.call('HDEL', KEYS[2], word())}`,
);

/** KEYS: task. */
export const take = script(
  reading,
  `
local strange = another('string')
if strange then return {'another', strange} end
local host, expiry = word(), word()
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= host then return {'taken'} end
redis.call('SET', KEYS[1], host, 'PX', expiry)
return {'kept'}`,
);

/** KEYS: task. */
export const leave = script(
  reading,
  `
if redis.call('GET', KEYS[1]) == word() then redis.call('DEL', KEYS[1]) end
return {'kept'}`,
);
