/** Scripts that change the shares of owners, and tell the order in which it is done (see lua.ts). */

import { expectTypes, logging, ordering, script } from './lua.ts';

/** A number that is greater than all before, and than a given one. KEYS: order. */
export const number = script(
  ordering,
  expectTypes('hash'),
  `
return {'kept', next_number(KEYS[1], word())}`,
);

/** For how long it is known that a share went, in microseconds: longer than any command is on its way. */
const goneFor = 3_600_000_000;

/**
 * Writes what hosts say of one owner, fields in and others out, unless one of them has said something later.
 * The number of what was said stands first in HOST/about, or alone in HOST/gone. KEYS: the owner's shares.
 */
export const share = script(
  expectTypes('hash'),
  `
local number, hosts = word(), words()
for place = hosts[1], hosts[2] do
  local about, gone = unpack(redis.call('HMGET', KEYS[1], ARGV[place] .. '/about', ARGV[place] .. '/gone'))
  local before = about and string.match(about, '^{"order":(%d+)') or gone
  if before and tonumber(before) > tonumber(number) then return {'stale', before} end
end
put(KEYS[1], words())
drop(KEYS[1], words())
local is_empty = true
for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
  if string.sub(field, -5) ~= '/gone' then
    is_empty = false
  elseif redis.call('HGET', KEYS[1], field) + ${goneFor} < tonumber(number) then
    redis.call('HDEL', KEYS[1], field)
  end
end
if is_empty then redis.call('PEXPIRE', KEYS[1], ${goneFor / 1000}) else redis.call('PERSIST', KEYS[1]) end
return {'kept'}`,
);

/** These owners' shares are others now. KEYS: measured, log. */
export const note = script(
  logging,
  expectTypes('zset', 'stream'),
  `
local news, list = word(), words()
local number = append(KEYS[2], news, 'is', 'shares', 'owners', table.concat(ARGV, ' ', list[1], list[2]))
for place = list[1], list[2] do redis.call('ZADD', KEYS[1], number, ARGV[place]) end
return {'kept'}`,
);

/** Removes owners who have no shares any more, unless somebody noted some since that number. KEYS: measured. */
export const unnote = script(
  `
local list = words()
for place = list[1], list[2], 2 do
  if redis.call('ZSCORE', KEYS[1], ARGV[place]) == ARGV[place + 1] then redis.call('ZREM', KEYS[1], ARGV[place]) end
end
return {'kept'}`,
);
