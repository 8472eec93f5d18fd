/** The hosts that take part, and who has the name of which. */

import { z } from 'zod';
import { SoftquotaError } from '../../errors.ts';
import { printable } from '../../text/index.ts';
import type { ClaimOutcome, HostClaim, HostRecord } from '../shared.ts';
import { pipeline, runScript, type ScriptReply, sound } from './asked.ts';
import type { Connection } from './connection.ts';
import * as scripts from './host-scripts.ts';
import { fieldName, type Keys } from './keys.ts';
import { dropHost } from './shares.ts';
import { understood, unnamed } from './values.ts';

export interface ClaimSettings {
  /** The life's number, which it was given as it began. */
  readonly since: number;
  readonly aliveMs: number;
  readonly renewalMs: number;
}

export async function claimHost(
  connection: Connection,
  keys: Keys,
  claim: HostClaim,
  settings: ClaimSettings,
): Promise<ClaimOutcome> {
  const first = await claimOnce(connection, keys, claim, settings, '');
  // Whoever has it now began later: who is told so, and asks again, lives.
  const last =
    first.is === 'later' ? await claimOnce(connection, keys, claim, settings, String(first.with[0])) : first;
  return outcomes[last.is] ?? 'taken';
}

/** What the script says; `later` again is a third one. */
const outcomes: Readonly<Record<string, ClaimOutcome>> = {
  kept: 'kept',
  regained: 'regained',
  former: 'former_life',
  young: 'young_store',
};

function claimOnce(
  connection: Connection,
  keys: Keys,
  { host, token, life, version, isHeld = false }: HostClaim,
  { since, aliveMs, renewalMs }: ClaimSettings,
  told: string,
): Promise<ScriptReply> {
  const args = [
    ...[
      fieldName(host),
      JSON.stringify(version),
      fieldName(token),
      fieldName(life),
      String(since),
      String(aliveMs),
    ],
    ...[isHeld ? '1' : '', told, String(renewalMs)],
  ];
  return connection.run(async client =>
    sound(
      connection.where,
      await runScript(client, scripts.claim, [keys.alive(host), keys.hosts, keys.order], args),
    ),
  );
}

export async function releaseHost(
  connection: Connection,
  keys: Keys,
  { host, token, life }: HostClaim,
): Promise<void> {
  await connection.run(client =>
    runScript(client, scripts.release, [keys.alive(host)], [fieldName(token), fieldName(life)]),
  );
}

export async function takeTask(
  connection: Connection,
  keys: Keys,
  task: string,
  host: string,
  aliveMs: number,
): Promise<boolean> {
  const answer = await connection.run(async client =>
    sound(
      connection.where,
      await runScript(client, scripts.take, [keys.task(task)], [fieldName(host), String(aliveMs)]),
    ),
  );
  return answer.is === 'kept';
}

export async function leaveTask(
  connection: Connection,
  keys: Keys,
  task: string,
  host: string,
): Promise<void> {
  await connection.run(client => runScript(client, scripts.leave, [keys.task(task)], [fieldName(host)]));
}

const record = z.strictObject({ seenAt: z.number().int(), version: z.string() });

export async function readHosts(connection: Connection, keys: Keys): Promise<readonly HostRecord[]> {
  const hash = await connection.run(client => client.hgetall(keys.hosts));
  const hosts = Object.entries(hash).map(([name, value]) =>
    understood(connection.where, keys.hosts, name, () => ({
      host: unnamed(name),
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
export async function forgetHost(connection: Connection, keys: Keys, host: string): Promise<void> {
  const living = await connection.run(client => client.exists(keys.alive(host)));
  if (living === 1) throw lives(host);
  const hadShares = await dropHost(connection, keys, host);
  const answer = await connection.run(async client =>
    sound(
      connection.where,
      await runScript(client, scripts.forget, [keys.alive(host), keys.hosts, keys.order], [fieldName(host)]),
    ),
  );
  if (answer.is === 'conflict') throw lives(host);
  if (answer.with[0] === 0 && !hadShares) {
    throw new SoftquotaError('not_found', `there is no host ${printable(host)}`);
  }
}

function lives(host: string): SoftquotaError {
  return new SoftquotaError(
    'conflict',
    `the daemon of host ${printable(host)} is running: only a host whose daemon has stopped can be forgotten`,
  );
}
