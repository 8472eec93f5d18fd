/** Advice to the administrator of a Redis, so that it does not lose data. */

import type { Redis } from 'ioredis';
import type { RedisAddress } from '../../network.ts';
import type { ServerAdvice } from '../shared.ts';
import { pairs } from './commands.ts';
import type { RedisContext } from './connection.ts';
import { replyCode } from './faults.ts';

/**
 * The oldest version of Redis, or of a compatible server, that softquota supports. Before it, errors in
 * scripts come without their codes, and min-replicas-to-write does not hold for scripts.
 */
const oldest = 7;
/** Milliseconds by which clocks may differ without advice. */
const mostAheadMs = 5000;

/** Reads the configuration of the server, as far as it permits; a refusal is no fault. */
export async function readAdvice(
  { address, connection, waitReplicas }: RedisContext,
  lacksPolicy: boolean,
): Promise<readonly ServerAdvice[]> {
  const server = await connection.run(look);
  const advice = [...(lacksPolicy ? dropped(server) : []), ...adviceFor(server, waitReplicas)];
  if (isOpen(address)) {
    advice.push({
      code: 'no_password',
      message: `${connection.where} is reached over the network without a password: whoever reaches it can change every quota.`,
      mend: 'requirepass A-LONG-RANDOM-PASSWORD (and [store] HOST = redis://:A-LONG-RANDOM-PASSWORD@HOST:PORT/0)',
    });
  }
  return advice;
}

/** Tells whether anybody who reaches the server over the network has all rights there. */
function isOpen({ password, places }: RedisAddress): boolean {
  return password === null && !places.every(({ host }) => /^(?:localhost|127\..*|::1)$/.test(host));
}

interface Server {
  readonly name: string;
  /** The fields of INFO. */
  readonly info: ReadonlyMap<string, string>;
  /** Milliseconds by which the clock of this host is ahead of the server's. */
  readonly aheadMs: number;
  /** Settings that CONFIG GET returns. */
  readonly settings: ReadonlyMap<string, string>;
}

async function look(server: Redis): Promise<Server> {
  const { host, port } = server.options;
  const info = (await permitted(server.info(), '')) + (await permitted(server.info('commandstats'), ''));
  const settings = await permitted(server.config('GET', 'append*'), []);
  const asked = Date.now();
  const [seconds, micros = 0] = await permitted(server.time(), []);
  const aheadMs = seconds === undefined ? 0 : (asked + Date.now()) / 2 - seconds * 1000 - micros / 1000;
  return {
    name: `Redis at ${host}:${port}`,
    info: new Map([...info.matchAll(/^(\w+):(.*?)\r?$/gm)].map(([, name = '', value = '']) => [name, value])),
    aheadMs,
    settings: new Map(pairs(Array.isArray(settings) ? settings.map(String) : [])),
  };
}

async function permitted<T>(answer: Promise<T>, otherwise: T): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (replyCode(error) === null) throw error;
    return otherwise;
  }
}

/**
 * Advice for a lost policy. A server with an append-only file that was not flushed has dropped the file's
 * content at its start: Redis does so if the ACL file gives the user `default` no rights.
 */
function dropped({ name, info }: Server): ServerAdvice[] {
  const wasFlushed = info.has('cmdstat_flushall') || info.has('cmdstat_flushdb');
  if (info.get('aof_enabled') !== '1' || wasFlushed) return [];
  const minutes = Math.ceil(Number(info.get('uptime_in_seconds')) / 60);
  const message = `${name} keeps an append-only file, was started ${minutes} min ago, and was without the policy: it had dropped what the file has, if nobody deleted it. It does so where its ACL file has "user default off" without rights.`;
  const mend = 'user default off ~* &* +@all (in the ACL file, then restart Redis)';
  return [{ code: 'dropped_at_start', message, mend }];
}

function adviceFor({ name, info, settings, aheadMs }: Server, waitReplicas: number): ServerAdvice[] {
  const advice: ServerAdvice[] = [];
  const add = (code: ServerAdvice['code'], message: string, mend: string) =>
    advice.push({ code, message, mend });
  if (info.get('aof_enabled') === '0') {
    const message = `${name} writes no append-only file: after a crash it has lost all since its last snapshot.`;
    add('no_append_only', message, 'appendonly yes');
  } else if (settings.get('appendfsync') === 'no') {
    const message = `${name} leaves it to the system when its append-only file reaches the disk: a power cut loses half a minute.`;
    add('not_durable_enough', message, 'appendfsync everysec');
  }
  const policy = info.get('maxmemory_policy') ?? 'noeviction';
  if (policy !== 'noeviction' && info.get('maxmemory') !== '0') {
    const message = `${name} throws keys away when its memory is full (maxmemory-policy ${policy}): quotas and usage would be gone.`;
    add('evicts', message, 'maxmemory-policy noeviction');
  }
  const version = info.get('redis_version');
  if (version !== undefined && Number.parseInt(version, 10) < oldest) {
    const message = `${name} is version ${version}; softquota is made for ${oldest}.0 and later.`;
    add('too_old', message, `update it to ${oldest}.0 or later`);
  }
  if (Math.abs(aheadMs) > mostAheadMs) {
    const seconds = Math.round(Math.abs(aheadMs) / 1000);
    const message = `the clock of this host is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} that of ${name}: allowances and graces do not end at the same time on all hosts.`;
    add('clock_differs', message, 'timedatectl set-ntp true (on the host whose clock is wrong)');
  }
  if (info.get('role') === 'slave') {
    const master = `${info.get('master_host')}:${info.get('master_port')}`;
    const message = `${name} is a replica of ${master}: what is written there is lost, or refused.`;
    const mend = `[store] HOST = redis://${master}/0 (and replica-read-only yes in redis.conf)`;
    add('replica_written', message, mend);
  }
  const replicas = Number(info.get('connected_slaves') ?? waitReplicas);
  if (replicas < waitReplicas) {
    const message = `${name} has ${replicas} of the ${waitReplicas} replicas that WAIT_REPLICAS asks for: no change of policy can be acknowledged.`;
    const mend = 'add replicas, or set [store] WAIT_REPLICAS to as many as there are';
    add('not_durable_enough', message, mend);
  }
  return advice;
}
