/**
 * Clients of Redis, at its addresses or by Sentinels; a connection, which is made again whenever it breaks;
 * and what a store has of both.
 *
 * During a short interruption, commands wait; from `patienceMs` after the loss on they fail at once, until
 * the connection is back. A command without an answer within `patienceMs` fails too, and the connection with
 * it: anything that hangs there would delay all later commands.
 */

import { isIP } from 'node:net';
import { Redis, type RedisOptions } from 'ioredis';
import { SoftquotaError, systemCode } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { type RedisAddress, redisAddressIn } from '../../network.ts';
import { mostKeptEvents } from '../record-store.ts';
import { away, failureOf, withoutSecret } from './faults.ts';
import { type Keys, redisKeys } from './keys.ts';

const patienceMs = 1500;
/** Milliseconds that a new connection may take until it can be used. */
const greetingMs = 3000;

interface ConnectionSettings {
  readonly address: RedisAddress;
  readonly log?: Pick<Log, 'info' | 'warn'> | undefined;
  /** Called first on each new connection; throws `store_refused` if softquota must not touch the server. */
  readonly examine?: (client: Redis) => Promise<void>;
  /** Called whenever the connection can be used again. */
  readonly ready?: (client: Redis) => void;
}

/** Resolves for all who wait: with true to go on, with false if it takes too long. */
type Gate = PromiseWithResolvers<boolean>;

export class Connection {
  readonly where: string;
  readonly #client: Redis;
  readonly #settings: ConnectionSettings;
  #state: 'connecting' | 'usable' | 'away' | 'closed' = 'away';
  #gate: Gate = Promise.withResolvers<boolean>();
  #timer: NodeJS.Timeout | undefined;
  #greeting: NodeJS.Timeout | undefined;
  /** The connection was given up, though ioredis calls it ready until the system has closed it. */
  #isLeft = false;
  /** Why it is away, as far as is known. */
  #fault: unknown = new Error('there is no connection yet');
  /** Why an existing connection must not be used. */
  #refusal: SoftquotaError | null = null;

  constructor(settings: ConnectionSettings) {
    this.#settings = settings;
    this.where = addressName(settings.address);
    this.#client = clientFor(settings.address);
    this.#client.on('error', (error: unknown) => {
      this.#fault = error;
      // A client that is denied access does not wait.
      if (this.#state === 'connecting' && this.#away().code === 'store_refused') this.#begin('away');
    });
    this.#client.on('connect', () => this.#greeted());
    this.#client.on('ready', () => {
      clearTimeout(this.#greeting);
      this.#isLeft = false;
      void this.#arrived();
    });
    this.#client.on('close', () => {
      clearTimeout(this.#greeting);
      this.#lost();
    });
    // ioredis gives up after some errors of Sentinels; only this code tries again.
    this.#client.on('end', () => this.#again());
    this.#begin('connecting');
  }

  /** Resolves when the connection can be used (null), must not be used, or is away (the reason). */
  async opened(): Promise<SoftquotaError | null> {
    return (await this.#gate.promise) ? this.#refusal : this.#away();
  }

  /**
   * Runs `act`. Rejects with `store_away` or `store_refused`; other errors of `act` count as those of Redis
   * or the network.
   */
  async run<T>(act: (client: Redis) => Promise<T>): Promise<T> {
    if (!(await this.#gate.promise)) throw this.#away();
    if (this.#refusal !== null) await this.#examine();
    try {
      return await this.#answered(act(this.#client));
    } catch (error) {
      throw this.#failed(error);
    }
  }

  close(): void {
    this.#begin('closed');
    clearTimeout(this.#greeting);
    this.#client.disconnect();
  }

  #begin(state: 'connecting' | 'usable' | 'away' | 'closed'): void {
    if (this.#state === 'closed') return;
    clearTimeout(this.#timer);
    this.#state = state;
    if (state === 'connecting') {
      this.#gate = Promise.withResolvers();
      this.#timer = setTimeout(() => this.#begin('away'), patienceMs);
      return;
    }
    if (state === 'away') this.#settings.log?.warn({ err: this.#away() }, 'the shared store is away');
    this.#gate.resolve(state === 'usable');
    // Later callers get the present state, not that of the first wait.
    this.#gate = Promise.withResolvers();
    this.#gate.resolve(state === 'usable');
  }

  /**
   * Limits the time until the connection is ready: ioredis waits for ever for the answer to its first
   * command, which may be lost.
   */
  #greeted(): void {
    clearTimeout(this.#greeting);
    this.#greeting = setTimeout(() => this.#client.disconnect(true), greetingMs).unref();
  }

  async #arrived(): Promise<void> {
    try {
      await this.#examine();
    } catch (error) {
      if (!(error instanceof SoftquotaError && error.code === 'store_refused')) {
        this.#fault = error;
        this.#anew();
        return;
      }
    }
    if (this.#state === 'closed' || this.#client.status !== 'ready') return;
    if (this.#state === 'away') this.#settings.log?.info({}, `${this.where} can be used again`);
    this.#begin('usable');
    this.#settings.ready?.(this.#client);
  }

  /** Examines the server. Stores and throws the reason if it must not be used. */
  async #examine(): Promise<void> {
    try {
      await this.#answered(this.#settings.examine?.(this.#client) ?? Promise.resolve());
      this.#refusal = null;
    } catch (error) {
      throw this.#failed(error);
    }
  }

  #failed(error: unknown): SoftquotaError {
    const fault = this.#faultOf(error);
    if (fault.code === 'store_refused') this.#refusal = fault;
    return fault;
  }

  #lost(): void {
    if (this.#state === 'usable') this.#begin('connecting');
  }

  #anew(): void {
    if (this.#client.status !== 'ready' || this.#isLeft) return;
    this.#isLeft = true;
    this.#client.disconnect(true);
  }

  #again(): void {
    if (this.#state === 'closed') return;
    this.#lost();
    setTimeout(() => {
      if (this.#state !== 'closed') this.#client.connect().catch(() => undefined);
    }, 500);
  }

  #answered<T>(answer: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      let isSettled = false;
      const settle = () => {
        isSettled = true;
        clearTimeout(timer);
      };
      const giveUp = () => {
        if (isSettled) return;
        this.#fault = away(this.where, `it did not answer within ${patienceMs / 1000} s`);
        if (this.#state === 'usable') this.#begin('away');
        this.#anew();
        reject(this.#fault);
      };
      // If this process was held up, the answer may be there already, and is read before immediates run.
      const timer = setTimeout(() => setImmediate(giveUp), patienceMs);
      answer.finally(settle).then(resolve, reject);
    });
  }

  #away(): SoftquotaError {
    if (this.#state === 'closed') return away(this.where, 'the store has been closed');
    return this.#faultOf(this.#fault);
  }

  #faultOf(error: unknown): SoftquotaError {
    if (this.#settings.address.tls && systemCode(error) === 'ETIMEDOUT') {
      const why =
        'it does not answer over TLS: rediss:// needs the tls-port of redis.conf, redis:// the port';
      return away(this.where, why, error);
    }
    return failureOf(this.where, withoutSecret(error, this.#settings.address.password));
  }
}

export interface RedisSettings {
  /** `redis://`, `rediss://` or `redis+sentinel://H1:P,H2:P/MASTER/0`. */
  readonly address: string;
  /** The beginning of every key and channel: letters, digits, `_` and `-`. */
  readonly prefix: string;
  /** Replicas that must have a change of policy before it is acknowledged; 0 by default. */
  readonly waitReplicas?: number;
  readonly log?: Pick<Log, 'info' | 'warn'>;
  /** Time in milliseconds for which a silent host keeps its name; 10 s by default. */
  readonly aliveMs?: number;
  /** Limit of stored events; `mostKeptEvents` unless given. */
  readonly mostEvents?: number;
  /** The host that writes; empty unless given. */
  readonly writer?: string;
}

/** The context of one store: the first argument of most functions in this folder. */
export interface RedisContext
  extends Required<Pick<RedisSettings, 'waitReplicas' | 'aliveMs' | 'mostEvents' | 'writer'>> {
  readonly address: RedisAddress;
  readonly keys: Keys;
  /** For reads, and for changes that do not wait for replicas. */
  readonly connection: Connection;
  /** For changes of policy, which wait for replicas. */
  readonly policyConnection: Connection;
  /** The number of the present connection, see `runFenced`; null: it has none yet. */
  readonly fence: { current: Promise<string> | null };
}

/** Rejects with `store_refused` if softquota must not touch the server. */
type Examine = (client: Redis, prefix: string, keys: Keys, where: string) => Promise<void>;

/** Connects. Examines each connection, and calls `ready` when it can be used. Throws `configuration`. */
export function createContext(settings: RedisSettings, examine: Examine, ready: () => void): RedisContext {
  const {
    prefix,
    waitReplicas = 0,
    log,
    aliveMs = 10_000,
    mostEvents = mostKeptEvents,
    writer = '',
  } = settings;
  if (!/^[\w-]+$/.test(prefix)) {
    throw new SoftquotaError(
      'configuration',
      '[store] PREFIX: expected are letters, digits, "_" and "-", at least one',
    );
  }
  const address = redisAddressIn(settings.address);
  if (address === null) throw new SoftquotaError('configuration', '[store] HOST: not an address of a store');
  const keys = redisKeys(prefix);
  const where = addressName(address);
  const fence: RedisContext['fence'] = { current: null };
  const connection = new Connection({
    address,
    examine: client => examine(client, prefix, keys, where),
    log,
    ready: () => {
      fence.current = null;
      ready();
    },
  });
  const policyConnection = waitReplicas === 0 ? connection : new Connection({ address });
  return {
    address,
    keys,
    connection,
    policyConnection,
    waitReplicas,
    aliveMs,
    mostEvents,
    writer,
    fence,
  };
}

/** The address as people read it, without user and password. */
function addressName({ places, master }: RedisAddress): string {
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
function clientFor({ places, tls, master, database, user, password }: RedisAddress): Redis {
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
