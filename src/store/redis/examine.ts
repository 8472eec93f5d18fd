/**
 * Looks, before anything is touched, at whether what lies under the prefix is softquota's, and of a known
 * schema.
 */

import type { Redis } from 'ioredis';
import { addressName, type RedisAddress } from './address.ts';
import { damaged, strangeSchema } from './faults.ts';
import type { Keys } from './keys.ts';
import { pipeline } from './pipeline.ts';

export function examineServer(keys: Keys, address: RedisAddress): (client: Redis) => Promise<void> {
  const where = addressName(address);
  const expected: readonly (readonly [string, string])[] = [
    [keys.policy, 'hash'],
    [keys.documents, 'hash'],
    [keys.volatile, 'hash'],
    [keys.owners, 'hash'],
    [keys.events, 'hash'],
    [keys.places, 'zset'],
    [keys.levels, 'hash'],
    [keys.measured, 'zset'],
    [keys.log, 'stream'],
    [keys.order, 'hash'],
    [keys.hosts, 'hash'],
    [keys.walkers, 'hash'],
  ];
  return async client => {
    const types = await pipeline(client, all => {
      for (const [key] of expected) all.type(key);
      return all;
    });
    for (const [at, [key, type]] of expected.entries()) {
      const found = types[at];
      if (found !== 'none' && found !== type) throw damaged(where, key, `it is a ${found}, not a ${type}`);
    }
    if (types[0] === 'none') return;
    const schema = await client.hget(keys.policy, 'schema');
    // A store that is emptied at this moment is nobody else's.
    if (schema === null && (await client.exists(keys.policy)) === 0) return;
    if (schema !== '1') throw strangeSchema(where, keys.policy, schema ?? '');
  };
}
