/** Address of a Redis, and a client of ioredis that looks for it for ever. */

import { isIP } from 'node:net';
import { Redis, type RedisOptions } from 'ioredis';
import { SoftquotaError } from '../../errors.ts';

interface ServerAddress {
  readonly host: string;
  readonly port: number;
}

export interface RedisAddress {
  /** `sentinel`: the places are those of the Sentinels, which know where the master is. */
  readonly kind: 'single' | 'sentinel';
  readonly places: readonly ServerAddress[];
  readonly tls: boolean;
  /** The name of the set that a Sentinel watches; else empty. */
  readonly master: string;
  readonly database: number;
  /** Empty: the user that Redis calls `default`. */
  readonly user: string;
  /** Null: none was given. */
  readonly password: string | null;
}

const form =
  /^(?<scheme>rediss?|redis\+sentinel):\/\/(?:(?<user>[^\s:@/?#]*)(?::(?<password>[^\s@/?#]*))?@)?(?<hosts>[^\s@/?#]+)(?<rest>\/[^\s?#]*)?$/i;

/** `[store] HOST`; throws `configuration` where it is no address. */
export function redisAddressOf(text: string): RedisAddress {
  const { scheme = '', user, password, hosts = '', rest = '' } = form.exec(text)?.groups ?? {};
  const kind = kinds[scheme.toLowerCase()];
  if (kind === undefined) throw noAddress();
  const [first = '', second] = rest.split('/').slice(1);
  const database = kind === 'sentinel' ? second : first;
  return {
    kind,
    places: hosts.split(',').map(place => placeOf(place, kind === 'sentinel' ? 26_379 : 6379)),
    tls: scheme.toLowerCase() === 'rediss',
    master: kind === 'sentinel' ? decoded(first) : '',
    database: Number(database || 0),
    user: decoded(user ?? ''),
    password: password === undefined ? null : decoded(password),
  };
}

const kinds: Readonly<Record<string, RedisAddress['kind']>> = {
  redis: 'single',
  rediss: 'single',
  'redis+sentinel': 'sentinel',
};

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

/** The text may hold a password, and so is not shown. */
function noAddress(): SoftquotaError {
  return new SoftquotaError(
    'configuration',
    'the address of the store cannot be understood. Write redis://HOST:PORT/DATABASE, rediss:// for TLS, ' +
      'or redis+sentinel://H1:P,H2:P/MASTER/0, each with USER:PASSWORD@, percent-encoded, before the host where needed',
  );
}

/** The address as people read it, without user and password. */
export function addressName({ kind, places, master }: RedisAddress): string {
  const where = places
    .map(({ host, port }) => (isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`))
    .join(',');
  switch (kind) {
    case 'single':
      return `Redis at ${where}`;
    case 'sentinel':
      return `Redis ${master} of the Sentinels at ${where}`;
  }
}

/** Between one attempt to connect and the next, in milliseconds. */
function pause(attempts: number): number {
  return Math.min(50 * 2 ** Math.min(attempts - 1, 10), 1000) + Math.floor(Math.random() * 50);
}

/**
 * Settings that keep a command from being sent twice, or late: one that finds no connection fails, and so
 * does one whose connection breaks. Only the caller knows whether it is still wanted.
 */
const once = { maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false, autoResubscribe: false };

const bounds = {
  ...once,
  connectTimeout: 1000,
  disconnectTimeout: 200,
  maxLoadingRetryTime: 500,
  keepAlive: 5000,
  // Every server and proxy speaks it, and nothing of the newer one is needed.
  protocol: 2,
  connectionName: 'softquota',
  disableClientInfo: true,
  // A master that has become a replica takes no writes; who it is now is found by connecting again.
  reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
} satisfies RedisOptions;

/** Connects at once, and after each loss again. */
export function clientFor(address: RedisAddress): Redis {
  const { kind, places, tls, master, database, user, password } = address;
  const [first = { host: 'localhost', port: 6379 }] = places;
  const credentials = {
    ...(user === '' ? {} : { username: user }),
    ...(password === null ? {} : { password }),
  };
  const lasting = {
    ...bounds,
    ...credentials,
    db: database,
    enableOfflineQueue: false,
    retryStrategy: pause,
  } satisfies RedisOptions;
  switch (kind) {
    case 'single':
      return new Redis({ ...lasting, ...first, ...(tls ? { tls: {} } : {}) });
    case 'sentinel':
      return knocking(
        new Redis({
          ...lasting,
          name: master,
          sentinels: [...places],
          sentinelCommandTimeout: 1000,
          sentinelRetryStrategy: pause,
        }),
        user,
        password,
      );
  }
}

/** Sentinels are asked without a password first, as most have none; else with the store's own. */
function knocking(client: Redis, user: string, password: string | null): Redis {
  if (password === null) return client;
  client.on('sentinelError', (error: Error) => {
    if (!error.message.includes('NOAUTH')) return;
    if (user !== '') client.options.sentinelUsername = user;
    client.options.sentinelPassword = password;
  });
  return client;
}
