/** The context of one store: the first argument of the functions in this folder. */

import type { Redis } from 'ioredis';
import { SoftquotaError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { mostKeptEvents } from '../record-store.ts';
import { addressName, type RedisAddress, redisAddressOf } from './address.ts';
import { Connection } from './connection.ts';
import { type Keys, redisKeys } from './keys.ts';

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
  const address = redisAddressOf(settings.address);
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
