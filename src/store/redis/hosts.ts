/** The hosts that share the store: their names, and the tasks that one host has at a time. */

import { z } from 'zod';
import type { ClaimOutcome, HostClaim, HostRecord } from '../shared.ts';
import { expectTypes, pipeline, runScript, script } from './commands.ts';
import type { RedisContext } from './connection.ts';
import { decodeFieldName, fieldName, parseStored } from './keys.ts';

/**
 * The name belongs to the token that is stored with it, and among the processes with that token to the one
 * that started last. A process that starts as `unsure`, while neither a holder nor its host is stored, gets
 * `unknown`: a store that was emptied may have lost the holder. KEYS: alive, hosts.
 */
const claimScript = script(
  expectTypes('string', 'hash'),
  `
local host, token, life, begins, expiry, about = word(), word(), word(), word(), word(), word()
local owner, present = string.match(redis.call('GET', KEYS[1]) or '', '^(%S+) (%S+)$')
if owner and owner ~= token then return {'taken'} end
if owner and present ~= life and begins == '' then return {'taken'} end
if not owner and begins == 'unsure' and redis.call('HEXISTS', KEYS[2], host) == 0 then return {'unknown'} end
local before = redis.call('HGET', KEYS[2], host) or ''
local reads_forge = string.find(before, '"readsForge":true', 1, true) and 'true' or 'false'
about = string.gsub(about, '"readsForge":null', '"readsForge":' .. reads_forge)
local now = redis.call('TIME')
redis.call('SET', KEYS[1], token .. ' ' .. life, 'PX', expiry)
redis.call('HSET', KEYS[2], host, string.format('{"seenAt":%.0f,%s', now[1] * 1000 + math.floor(now[2] / 1000), about))
return {'kept'}`,
);

/** KEYS: alive. */
const releaseScript = script(`
if redis.call('GET', KEYS[1]) == word() then redis.call('DEL', KEYS[1]) end
return {'kept'}`);

/** A host that only measures cannot write what the holder of a task decides. KEYS: task. */
const takeScript = script(
  expectTypes('string'),
  `
local host, expiry, decided = word(), word(), word()
if redis.acl_check_cmd and not redis.acl_check_cmd('HSET', decided, '', '') then return {'taken'} end
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= host then return {'taken'} end
redis.call('SET', KEYS[1], host, 'PX', expiry)
return {'kept'}`,
);

/** Takes the host's name, or keeps it. */
export async function claimHost(
  context: RedisContext,
  {
    host,
    token,
    life,
    version,
    begins = null,
    isParted = false,
    roots = null,
    praefectStorage = null,
    readsForge = false,
  }: HostClaim,
): Promise<ClaimOutcome> {
  const about = JSON.stringify({ version, isParted, roots, praefectStorage, readsForge }).slice(1);
  const reply = await runScript(
    context,
    claimScript,
    [context.keys.alive(host), context.keys.hosts],
    [fieldName(host), fieldName(token), fieldName(life), begins ?? '', String(context.aliveMs), about],
  );
  return reply.is === 'kept' || reply.is === 'unknown' ? reply.is : 'taken';
}

/** Releases the name, so that another daemon may have it at once. */
export async function releaseHost(context: RedisContext, { host, token, life }: HostClaim): Promise<void> {
  const args = [`${fieldName(token)} ${fieldName(life)}`];
  await runScript(context, releaseScript, [context.keys.alive(host)], args);
}

/**
 * Takes or keeps a task that only one host has at a time, for as long as a name lasts. False: another host
 * has it, or this one has no right to write volatile documents.
 */
export async function takeTask(context: RedisContext, task: string, host: string): Promise<boolean> {
  const args = [fieldName(host), String(context.aliveMs), context.keys.volatile];
  const reply = await runScript(context, takeScript, [context.keys.task(task)], args);
  return reply.is === 'kept';
}

/** Releases a task, if the host has it. */
export async function leaveTask(context: RedisContext, task: string, host: string): Promise<void> {
  await runScript(context, releaseScript, [context.keys.task(task)], [fieldName(host)]);
}

const record = z.object({
  seenAt: z.number().int(),
  version: z.string(),
  isParted: z.boolean(),
  roots: z
    .array(z.strictObject({ source: z.string(), isOfNetwork: z.boolean(), isWalked: z.boolean() }))
    .nullable()
    .default(null),
  praefectStorage: z.string().nullable().default(null),
  readsForge: z.boolean().default(false),
});

export async function readHosts({ connection, keys }: RedisContext): Promise<readonly HostRecord[]> {
  const hash = await connection.run(client => client.hgetall(keys.hosts));
  const hosts = Object.entries(hash).map(([name, value]) =>
    parseStored(connection.where, keys.hosts, name, () => ({
      host: decodeFieldName(name),
      ...record.parse(JSON.parse(value)),
    })),
  );
  if (hosts.length === 0) return [];
  const alive = await connection.run(client =>
    pipeline(client, all => {
      for (const { host } of hosts) all.exists(keys.alive(host));
      return all;
    }),
  );
  return hosts.map((host, at) => ({ ...host, isAlive: alive[at] === 1 }));
}
