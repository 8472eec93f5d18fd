/**
 * Common parts of all scripts: what Redis does in one step, in Lua.
 *
 * Every script looks first and writes then, so that one which stops has written nothing; and it puts in
 * before it takes out, as Redis asks whether there is memory left only before the first write. They answer
 * with a word: `kept`, `conflict`, `stale` (see `runFenced`), or `wrongtype` or `schema` with what is in the
 * way (see `throwIfFault`).
 *
 * Arguments come as words, or as a count and so many words. Lists are handed on in pieces, for Lua takes a
 * few thousand values at a time.
 */

import { createHash } from 'node:crypto';

export interface Script {
  readonly text: string;
  readonly sha: string;
}

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
local function wrong_type(...)
  for place, kind in ipairs({...}) do
    local found = redis.call('TYPE', KEYS[place]).ok
    if found ~= 'none' and found ~= kind then return KEYS[place] end
  end
end`;

/** A script of these parts, which may read its arguments and write lists. */
export function script(...parts: readonly string[]): Script {
  const text = [reading, ...parts].join('\n');
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}

/** Ends a script if another program's key is there: each of KEYS is of the type given, or not there. */
export function expectTypes(...types: readonly ('string' | 'hash' | 'zset')[]): string {
  return `
local strange = wrong_type(${types.map(type => `'${type}'`).join(', ')})
if strange then return {'wrongtype', strange} end`;
}

/**
 * Ends a script that `runFenced` did not send over the present connection; the first of KEYS is the fences.
 */
export const fenced = `
local writer, fence = word(), word()
if redis.call('HGET', KEYS[1], writer) ~= fence then return {'stale'} end`;

/**
 * Id of this server, in this life of its own: one that takes another's place, or was started again, may have
 * lost what was acknowledged. Empty if it does not say.
 */
export const serverLua = `
local function server()
  local info = redis.pcall('INFO', 'server')
  return type(info) == 'string' and string.match(info, 'run_id:(%w+)') or ''
end`;

/** Number of replicas that follow now; nil if the server does not say. */
export const replicasOf = `
local function replicas()
  local info = redis.pcall('INFO', 'replication')
  if type(info) ~= 'string' or not string.find(info, 'connected_slaves:') then return nil end
  local _, count = string.gsub(info, 'state=online', '')
  return count
end`;
