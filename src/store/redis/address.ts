/** Reads the address of a Redis, and makes a client that connects again and again. */

import { isIP } from 'node:net';
import { Redis, type RedisOptions } from 'ioredis';
import { SoftquotaError } from '../../errors.ts';

interface ServerAddress {
  readonly host: string;
  readonly port: number;
}

export interface RedisAddress {
  /** The servers; with Sentinels these, which know where the master is. */
  readonly places: readonly ServerAddress[];
  readonly tls: boolean;
  /** The name of the master that the Sentinels watch; null without Sentinels. */
  readonly master: string | null;
  readonly database: number;
  /** Empty: the user that Redis calls `default`. */
  readonly user: string;
  /** Null: there is none. */
  readonly password: string | null;
}

const form =
  /^(?<scheme>rediss?|redis\+sentinel):\/\/(?:(?<user>[^\s:@/?#]*)(?::(?<password>[^\s@/?#]*))?@)?(?<hosts>[^\s@/?#]+)(?<rest>\/[^\s?#]*)?$/i;

/** Reads `[store] HOST`; throws `configuration` if it is no address. */
export function redisAddressOf(text: string): RedisAddress {
  const groups = form.exec(text)?.groups;
  if (groups === undefined) throw noAddress();
  const { scheme = '', user = '', password, hosts = '', rest = '' } = groups;
  const [first = '', second] = rest.split('/').slice(1);
  const isSentinel = scheme.toLowerCase() === 'redis+sentinel';
  return {
    places: hosts.split(',').map(place => placeOf(place, isSentinel ? 26_379 : 6379)),
    tls: scheme.toLowerCase() === 'rediss',
    master: isSentinel ? decoded(first) : null,
    database: Number((isSentinel ? second : first) || 0),
    user: decoded(user),
    password: password === undefined ? null : decoded(password),
  };
}

function placeOf(text: string, usualPort: number): ServerAddress {
  const [, bracketed, plain = '', port] = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  if (host === '') throw noAddress();
  return { host, port: port === undefined ? usualPort : Number(port) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw noAddress();
  }
}

/** The error for an invalid address, without its text, which may hold a password. */
function noAddress(): SoftquotaError {
  return new SoftquotaError(
    'configuration',
    'the address of the store cannot be understood. Write redis://HOST:PORT/DATABASE, rediss:// for TLS, ' +
      'or redis+sentinel://H1:P,H2:P/MASTER/0, each with USER:PASSWORD@, percent-encoded, before the host where needed',
  );
}

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
