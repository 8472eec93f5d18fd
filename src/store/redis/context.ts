/** Context of one store: the first argument of the functions of this folder. */

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
  /** For how long a host that is not heard of keeps its name, in milliseconds; 10 s by default. */
  readonly aliveMs?: number;
  /** Events that are kept at most; `mostKeptEvents` unless given. */
  readonly mostEvents?: number;
  /** The host that writes; empty unless given. */
  readonly writer?: string;
}

export interface RedisContext
  extends Required<Pick<RedisSettings, 'waitReplicas' | 'aliveMs' | 'mostEvents' | 'writer'>> {
  readonly address: RedisAddress;
  readonly keys: Keys;
  /** For questions, and for changes that wait for nobody. */
  readonly connection: Connection;
  /** For changes of policy, which wait for replicas. */
  readonly policyConnection: Connection;
  /** The number that the present connection has taken, as `runFenced` tells; null: none yet. */
  readonly fence: { current: Promise<string> | null };
}

/** Rejects with `store_refused` where nothing must be touched. */
type Examine = (client: Redis, prefix: string, keys: Keys, where: string) => Promise<void>;

/** Connects; each connection is examined, then `ready` called when it can be used. Throws `configuration`. */
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
