/** Which machines live, and what they do for all (see lua.ts). */

import { reading, script } from './lua.ts';

const living = `
local function life_of(value)
  return string.match(value or '', '^(%S*) (%S*) (%S*)$')
end`;

/**
 * Of the lives of one token the one with the greater number has the name, which each was given as it began: one that was
 * followed by another does not come back, also not where it was heard of late. Else two machines, one the copy of the
 * other's disk, would take turns. KEYS: alive, hosts.
 */
export const claim = script(
  reading,
  living,
  `
local strange = another('string', 'hash')
if strange then return {'another', strange} end
local host, version, token, life, number, expiry = word(), word(), word(), word(), word(), word()
local owner, current, since = life_of(redis.call('GET', KEYS[1]))
if owner and owner ~= token then return {'taken'} end
if current and current ~= life and tonumber(since) > tonumber(number) then return {'taken'} end
local now = redis.call('TIME')
redis.call('SET', KEYS[1], token .. ' ' .. life .. ' ' .. number, 'PX', expiry)
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

/** Takes a machine off the list; \`behind\`: it lives. KEYS: alive, hosts, order. */
export const forget = script(
  reading,
  `
if redis.call('EXISTS', KEYS[1]) == 1 then return {'behind'} end
local host = word()
redis.call('HDEL', KEYS[3], 'recorded ' .. host)
return {'kept', redis.call('HDEL', KEYS[2], host)}`,
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
