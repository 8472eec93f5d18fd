/** Makes a client of a Redis that connects again and again. */

import { isIP } from 'node:net';
import { Redis, type RedisOptions } from 'ioredis';
import type { RedisAddress } from '../../network.ts';

/** The address as people read it, without user and password. */
export function addressName({ places, master }: RedisAddress): string {
  const where = places
    .map(({ host, port }) => (isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`))
    .join(',');
  return master === null ? `Redis at ${where}` : `Redis ${master} of the Sentinels at ${where}`;
}

/** Returns the milliseconds between two attempts to connect. */
function pause(attempts: number): number {
  return Math.min(50 * 2 ** Math.min(attempts - 1, 10), 1000) + Math.floor(Math.random() * 50);
}

/**
 * Settings by which no command is sent twice or late: it fails if there is no connection or if the connection
 * breaks. Only the caller knows whether it is still wanted.
 */
const once = { maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false, autoResubscribe: false };

const bounds = {
  ...once,
  connectTimeout: 1000,
  disconnectTimeout: 200,
  maxLoadingRetryTime: 500,
  keepAlive: 5000,
  // Every server and proxy knows RESP2, and nothing of RESP3 is needed.
  protocol: 2,
  connectionName: 'softquota',
  disableClientInfo: true,
  // A master that has become a replica takes no writes; a new connection finds the present master.
  reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
} satisfies RedisOptions;

/** Makes a client that connects at once, and again after each loss. */
export function clientFor({ places, tls, master, database, user, password }: RedisAddress): Redis {
  const lasting = {
    ...bounds,
    ...(user === '' ? {} : { username: user }),
    ...(password === null ? {} : { password }),
    db: database,
    enableOfflineQueue: false,
    retryStrategy: pause,
  } satisfies RedisOptions;
  if (master === null) return new Redis({ ...lasting, ...places[0], ...(tls ? { tls: {} } : {}) });
  const client = new Redis({
    ...lasting,
    name: master,
    sentinels: [...places],
    sentinelCommandTimeout: 1000,
    sentinelRetryStrategy: pause,
  });
  return knocking(client, user, password);
}

/** Asks Sentinels without a password first, since most have none; then with that of the store. */
function knocking(client: Redis, user: string, password: string | null): Redis {
  if (password === null) return client;
  client.on('sentinelError', (error: Error) => {
    if (!error.message.includes('NOAUTH')) return;
    if (user !== '') client.options.sentinelUsername = user;
    client.options.sentinelPassword = password;
  });
  return client;
}
