/**
 * The hosts that walk what several of them mount: the host that took it first, as long as it is on the list
 * of hosts. So whoever takes a host off that list has what it walked taken by another.
 */

import { pairs, runScript } from './commands.ts';
import type { RedisContext } from './context.ts';
import { fieldName } from './keys.ts';
import { expectTypes, type Script, script } from './lua.ts';
import { decodeFieldName, parseStored } from './values.ts';

/** KEYS: walkers, hosts. */
const begin = expectTypes('hash', 'hash');

/** Gives names and hosts by turns. */
const list = script(
  begin,
  `
local found = {'kept'}
local all = redis.call('HGETALL', KEYS[1])
for place = 1, #all, 2 do
  if redis.call('HEXISTS', KEYS[2], all[place + 1]) == 1 then
    found[#found + 1] = all[place]
    found[#found + 1] = all[place + 1]
  end
end
return found`,
);

const take = script(
  begin,
  `
local name, host = word(), word()
local walker = redis.call('HGET', KEYS[1], name)
if walker and walker ~= host and redis.call('HEXISTS', KEYS[2], walker) == 1 then return {'taken', walker} end
if walker ~= host then redis.call('HSET', KEYS[1], name, host) end
return {'kept', host}`,
);

const leave = script(
  begin,
  `
local name, host = word(), word()
if redis.call('HGET', KEYS[1], name) == host then redis.call('HDEL', KEYS[1], name) end
return {'kept'}`,
);

async function ask(
  context: RedisContext,
  which: Script,
  args: readonly string[],
): Promise<readonly string[]> {
  const { walkers, hosts } = context.keys;
  const reply = await runScript(context, which, [walkers, hosts], args.map(fieldName));
  return parseStored(context.connection.where, walkers, 'a name', () =>
    reply.with.map(each => decodeFieldName(String(each))),
  );
}

export async function readWalkers(context: RedisContext): Promise<ReadonlyMap<string, string>> {
  return new Map(pairs(await ask(context, list, [])));
}

export async function takeWalk(context: RedisContext, name: string, host: string): Promise<string> {
  const [walker = host] = await ask(context, take, [name, host]);
  return walker;
}

export async function leaveWalk(context: RedisContext, name: string, host: string): Promise<void> {
  await ask(context, leave, [name, host]);
}
