/**
 * The hosts that walk what several of them mount: the host that took it first, as long as it is on the list
 * of hosts. So whoever takes a host off that list has what it walked taken by another.
 */

import { runScript, sound } from './asked.ts';
import type { Connection } from './connection.ts';
import { fieldName, type Keys } from './keys.ts';
import { reading, script } from './lua.ts';
import { understood, unnamed } from './values.ts';

/** KEYS: walkers, hosts. */
const begin = `
local strange = another('hash', 'hash')
if strange then return {'wrongtype', strange} end`;

/** Gives names and hosts by turns. */
const list = script(
  reading,
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
  reading,
  begin,
  `
local name, host = word(), word()
local walker = redis.call('HGET', KEYS[1], name)
if walker and walker ~= host and redis.call('HEXISTS', KEYS[2], walker) == 1 then return {'taken', walker} end
if walker ~= host then redis.call('HSET', KEYS[1], name, host) end
return {'kept', host}`,
);

const leave = script(
  reading,
  begin,
  `
local name, host = word(), word()
if redis.call('HGET', KEYS[1], name) == host then redis.call('HDEL', KEYS[1], name) end
return {'kept'}`,
);

async function ask(
  connection: Connection,
  { walkers, hosts }: Keys,
  which: typeof list,
  args: readonly string[],
): Promise<readonly string[]> {
  const answer = await connection.run(async client =>
    sound(connection.where, await runScript(client, which, [walkers, hosts], args.map(fieldName))),
  );
  return understood(connection.where, walkers, 'a name', () =>
    answer.with.map(each => unnamed(String(each))),
  );
}

export async function readWalkers(connection: Connection, keys: Keys): Promise<ReadonlyMap<string, string>> {
  const found = await ask(connection, keys, list, []);
  return new Map(
    Array.from({ length: found.length / 2 }, (_, at) => [found[2 * at] ?? '', found[2 * at + 1] ?? '']),
  );
}

export async function takeWalk(
  connection: Connection,
  keys: Keys,
  name: string,
  host: string,
): Promise<string> {
  const [walker = host] = await ask(connection, keys, take, [name, host]);
  return walker;
}

export async function leaveWalk(
  connection: Connection,
  keys: Keys,
  name: string,
  host: string,
): Promise<void> {
  await ask(connection, keys, leave, [name, host]);
}
