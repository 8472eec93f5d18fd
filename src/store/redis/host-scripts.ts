/** Scripts for hosts that live, and what they do for all (see lua.ts). */

import { expectTypes, script, serverLua } from './lua.ts';

const living = `
local function life_of(value)
  return string.match(value or '', '^(%S*) (%S*) (%S*)$')
end`;

/**
 * Gives the name to the older one of two lives that live both, which the number says that each was given as
 * it began. It takes the name from a later one only after it was told whose it is, so that one that is dead,
 * and heard of recently, takes nothing.
 *
 * A later one of the same host has it once the one before was silent for `patience` milliseconds. Where
 * the store may have lost who has the name, since it has known names on this server for less than that, only
 * who had it last has it at once.
 *
 * KEYS: alive, hosts, order.
 */
export const claim = script(
  serverLua,
  living,
  expectTypes('string', 'hash', 'hash'),
  `
local host, version, token, life, number, expiry = word(), word(), word(), word(), word(), word()
local had, told, patience = word() == '1', word(), tonumber(word())
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local here = server()
local known_on, began = string.match(redis.call('HGET', KEYS[3], 'names') or '', '^(%w*) (%d+)$')
began = tonumber(began)
local owner, current, since = life_of(redis.call('GET', KEYS[1]))
local outcome = 'kept'
if current and current ~= life then
  if tonumber(number) < tonumber(since) or (number == since and life < current) then
    if told ~= current then return {'later', current} end
    outcome = 'regained'
  elseif owner ~= token then
    return {'taken'}
  elseif expiry - redis.call('PTTL', KEYS[1]) < patience then
    return {'former'}
  end
end
if known_on ~= here or began > now then
  began = now
  redis.call('HSET', KEYS[3], 'names', string.format('%s %.0f', here, now))
end
if not current and not had and now - began < patience then
  return {redis.call('HEXISTS', KEYS[2], host) == 1 and 'former' or 'young'}
end
redis.call('SET', KEYS[1], token .. ' ' .. life .. ' ' .. number, 'PX', expiry)
redis.call('HSET', KEYS[2], host, string.format('{"seenAt":%.0f,"version":%s}', now, version))
return {outcome}`,
);

/** KEYS: alive. */
export const release = script(
  living,
  `
local owner, current = life_of(redis.call('GET', KEYS[1]))
if owner == word() and current == word() then redis.call('DEL', KEYS[1]) end
return {'kept'}`,
);

/** Takes a host off the list; `conflict`: it lives. KEYS: alive, hosts, order. */
export const forget = script(
  `
if redis.call('EXISTS', KEYS[1]) == 1 then return {'conflict'} end
local host = word()
redis.call('HDEL', KEYS[3], 'recorded ' .. host)
return {'kept', redis.call('HDEL', KEYS[2], host)}`,
);

/** KEYS: task. */
export const take = script(
  expectTypes('string'),
  `
local host, expiry = word(), word()
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= host then return {'taken'} end
redis.call('SET', KEYS[1], host, 'PX', expiry)
return {'kept'}`,
);

/** KEYS: task. */
export const leave = script(
  `
if redis.call('GET', KEYS[1]) == word() then redis.call('DEL', KEYS[1]) end
return {'kept'}`,
);
