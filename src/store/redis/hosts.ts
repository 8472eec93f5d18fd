/** The hosts that take part, and who has the name of which. */

import { z } from 'zod';
import { SoftquotaError } from '../../errors.ts';
import { printable } from '../../text/index.ts';
import type { ClaimOutcome, HostClaim, HostRecord } from '../shared.ts';
import { runScript, type ScriptReply } from './commands.ts';
import type { RedisContext } from './context.ts';
import * as scripts from './host-scripts.ts';
import { fieldName } from './keys.ts';
import { pipeline } from './pipeline.ts';
import { dropHost } from './shares.ts';
import { decodeFieldName, parseStored } from './values.ts';

/** `since` is the number of the life, which it was given as it began. */
export async function claimHost(
  context: RedisContext,
  claim: HostClaim,
  since: number,
): Promise<ClaimOutcome> {
  const first = await claimOnce(context, claim, since, '');
  // The present holder began later: it is told so, and if it asks again, it lives.
  const last = first.is === 'later' ? await claimOnce(context, claim, since, String(first.with[0])) : first;
  return outcomes[last.is] ?? 'taken';
}

/** The script's answer; `later` again is a third one. */
const outcomes: Readonly<Record<string, ClaimOutcome>> = {
  kept: 'kept',
  regained: 'regained',
  former: 'former_life',
  young: 'young_store',
};

/** `told`: the life that the host was said to have now. */
function claimOnce(
  context: RedisContext,
  { host, token, life, version, isHeld = false }: HostClaim,
  since: number,
  told: string,
): Promise<ScriptReply> {
  const { aliveMs, renewalMs } = context;
  return runScript(context, scripts.claim, hostKeys(context, host), [
    fieldName(host),
    JSON.stringify(version),
    fieldName(token),
    fieldName(life),
    String(since),
    String(aliveMs),
    isHeld ? '1' : '',
    told,
    String(renewalMs),
  ]);
}

function hostKeys({ keys }: RedisContext, host: string): readonly string[] {
  return [keys.alive(host), keys.hosts, keys.order];
}

export async function releaseHost(context: RedisContext, { host, token, life }: HostClaim): Promise<void> {
  const args = [fieldName(token), fieldName(life)];
  await runScript(context, scripts.release, [context.keys.alive(host)], args);
}

export async function takeTask(context: RedisContext, task: string, host: string): Promise<boolean> {
  const args = [fieldName(host), String(context.aliveMs)];
  const reply = await runScript(context, scripts.take, [context.keys.task(task)], args);
  return reply.is === 'kept';
}

export async function leaveTask(context: RedisContext, task: string, host: string): Promise<void> {
  await runScript(context, scripts.leave, [context.keys.task(task)], [fieldName(host)]);
}

const record = z.strictObject({ seenAt: z.number().int(), version: z.string() });

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

/** The shares go first: what breaks off can be done again as long as the host is on the list. */
export async function forgetHost(context: RedisContext, host: string): Promise<void> {
  const { connection, keys } = context;
  const living = await connection.run(client => client.exists(keys.alive(host)));
  if (living === 1) throw lives(host);
  const hadShares = await dropHost(context, host);
  const reply = await runScript(context, scripts.forget, hostKeys(context, host), [fieldName(host)]);
  if (reply.is === 'conflict') throw lives(host);
  if (reply.with[0] === 0 && !hadShares) {
    throw new SoftquotaError('not_found', `there is no host ${printable(host)}`);
  }
}

function lives(host: string): SoftquotaError {
  return new SoftquotaError(
    'conflict',
    `the daemon of host ${printable(host)} is running: only a host whose daemon has stopped can be forgotten`,
  );
}
