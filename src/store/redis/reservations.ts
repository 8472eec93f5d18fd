/**
 * Reserves bytes of a limit for several hosts together, in one step each.
 *
 * `PREFIX:share:{OWNER}:reserved` lies beside the shares of the owner, so that a script reads both. The host
 * that asks knows its own bytes best, and those of its own reservations: of what lies here, only the other
 * hosts' count. Times are Redis's own. What nobody takes out goes with its time, and the last with the key.
 */

import { leaves } from '../../quota/index.ts';
import type { OthersReserved, ReserveRequest } from '../shared.ts';
import { pairs, runScript, words } from './commands.ts';
import type { RedisContext } from './context.ts';
import { fieldName } from './keys.ts';
import { expectTypes, script } from './lua.ts';
import { unreachableMark } from './shares.ts';
import { numberIn, understood } from './values.ts';

/** Longer than any reservation lasts, in milliseconds. */
const keptMs = 2 * 3_600_000;

/**
 * A field is HOST/ID, a value when it ends, the leaves as a mask, and the bytes. A limit is written as five
 * words: itself, the leaves that it counts, what the host that asks stores under them, what of it is
 * unreachable, and how much of such bytes is forgiven. KEYS: the owner's shares, reserved.
 */
const reserve = script(
  expectTypes('hash', 'hash'),
  `
local host, mask, total, span, reached = word(), word(), tonumber(word()), tonumber(word()), word() == '1'
local leaves, parts, groups = words(), words(), tonumber(word())
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local usage, garbage, index, lost = {}, {}, {}, {}
for place = leaves[1], leaves[2] do
  usage[#usage + 1] = 0
  garbage[#garbage + 1] = 0
  index[ARGV[place]] = #usage
  lost['${unreachableMark}' .. ARGV[place]] = #usage
end
local shares = redis.call('HGETALL', KEYS[1])
for at = 1, #shares, 2 do
  local who, what = string.match(shares[at], '^([^/]*)/(.*)$')
  local leaf = index[what]
  if leaf and who ~= host then usage[leaf] = usage[leaf] + tonumber(shares[at + 1]) end
  leaf = lost[what]
  if leaf and who ~= host then garbage[leaf] = garbage[leaf] + tonumber(shares[at + 1]) end
end
local others, over = {}, {}
local reserved = redis.call('HGETALL', KEYS[2])
for at = 1, #reserved, 2 do
  local ends, its, bytes = string.match(reserved[at + 1], '^(%d+) (%d+) (%d+)$')
  if not ends or tonumber(ends) <= now then
    over[#over + 1] = reserved[at]
  elseif string.match(reserved[at], '^([^/]*)/') ~= host then
    others[#others + 1] = { tonumber(its), tonumber(bytes) }
  end
end
local function under(bytesOf, counts)
  local sum = 0
  for leaf, bytes in ipairs(bytesOf) do
    if bit.band(counts, bit.lshift(1, leaf - 1)) ~= 0 then sum = sum + bytes end
  end
  return sum
end
local function counted(counts)
  local sum = under(usage, counts)
  for _, other in ipairs(others) do
    if bit.band(counts, other[1]) ~= 0 then sum = sum + other[2] end
  end
  return sum
end
local function leaves_room(limit, counts, own, unreachable, most)
  if limit <= 0 then return limit == -1 end
  local forgiven = math.min(unreachable + under(garbage, counts), most)
  local after = own + counted(counts) - forgiven + total
  return after < limit or (after == limit and not reached)
end
local is_allowed = groups == -1
for _ = 1, groups do
  local rules, fits = words(), true
  for at = rules[1], rules[2], 5 do
    fits = fits and leaves_room(tonumber(ARGV[at]), tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]),
      tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4]))
  end
  is_allowed = is_allowed or fits
end
if not is_allowed then
  local reply = {'refused'}
  for _, bytes in ipairs(usage) do reply[#reply + 1] = string.format('%.0f', bytes) end
  for _, bytes in ipairs(garbage) do reply[#reply + 1] = string.format('%.0f', bytes) end
  for _, other in ipairs(others) do
    reply[#reply + 1] = string.format('%.0f', other[1])
    reply[#reply + 1] = string.format('%.0f', other[2])
  end
  return reply
end
local ends = string.format('%.0f', now + span)
for at = parts[1], parts[2], 2 do
  redis.call('HSET', KEYS[2], host .. '/' .. ARGV[at], ends .. ' ' .. mask .. ' ' .. ARGV[at + 1])
end
for _, field in ipairs(over) do redis.call('HDEL', KEYS[2], field) end
redis.call('PEXPIRE', KEYS[2], ${keptMs})
return {'kept'}`,
);

/** KEYS: reserved. */
const end = script(
  expectTypes('hash'),
  `
drop(KEYS[1], words())
return {'kept'}`,
);

/** Null: it is reserved. */
export async function reserveTogether(
  context: RedisContext,
  request: ReserveRequest,
): Promise<OthersReserved | null> {
  const { connection, keys } = context;
  const { host, ownerKey, mask, parts, milliseconds, refusesReached, limits } = request;
  const total = Math.min(
    parts.reduce((sum, { bytes }) => sum + bytes, 0),
    Number.MAX_SAFE_INTEGER,
  );
  const reply = await runScript(
    context,
    reserve,
    [keys.share(ownerKey), keys.reserved(ownerKey)],
    [
      fieldName(host),
      String(mask),
      String(total),
      String(milliseconds),
      refusesReached ? '1' : '0',
      ...words(leaves),
      ...words(parts.flatMap(({ id, bytes }) => [fieldName(id), String(bytes)])),
      String(limits === null ? -1 : limits.length),
      ...(limits ?? []).flatMap(rules =>
        words(
          rules.flatMap(rule =>
            [rule.limitBytes, rule.counts, rule.ownBytes, rule.ownUnreachable, rule.forgivesBytes].map(
              String,
            ),
          ),
        ),
      ),
    ],
  );
  if (reply.is === 'kept') return null;
  const numbers = understood(connection.where, keys.reserved(ownerKey), 'a figure', () =>
    reply.with.map(each => numberIn(String(each))),
  );
  return {
    usage: numbers.slice(0, leaves.length),
    unreachable: numbers.slice(leaves.length, 2 * leaves.length),
    reserved: pairs(numbers.slice(2 * leaves.length)).map(([its, bytes]) => ({ mask: its, bytes })),
  };
}

/** Takes out what is over. */
export async function endReserved(
  context: RedisContext,
  host: string,
  ownerKey: string,
  ids: readonly string[],
): Promise<void> {
  const fields = ids.map(id => `${fieldName(host)}/${fieldName(id)}`);
  await runScript(context, end, [context.keys.reserved(ownerKey)], words(fields));
}
