/** Context of one store: the first argument of the functions of this folder. */

import { SoftquotaError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { type RedisAddress, redisAddressOf } from './address.ts';
import { Connection } from './connection.ts';
import { examineServer } from './examine.ts';
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
  /**
   * For how long a name is left to the daemon that may have it, where the store may have lost that, in
   * milliseconds: 3 s by default. Living ones keep their names more often.
   */
  readonly renewalMs?: number;
  /** Events that are kept at most; of more, the oldest go. */
  readonly mostEvents?: number;
  /**
   * The host that writes events and levels, by a name that it has after a restart, too: what it sent before,
   * and comes later, is refused. Unless given, they are written as they come.
   */
  readonly writer?: string;
}

export interface RedisContext
  extends Required<Pick<RedisSettings, 'waitReplicas' | 'aliveMs' | 'renewalMs' | 'mostEvents'>> {
  readonly address: RedisAddress;
  readonly keys: Keys;
  /** For questions, and for changes that wait for nobody. */
  readonly connection: Connection;
  /** For changes of policy, which wait for replicas. */
  readonly policyConnection: Connection;
  /** Null: events and levels are written as they come. */
  readonly writer: string | null;
}

/** Connects; `ready` is called whenever the connection can be used again. Throws `configuration`. */
export function createContext(settings: RedisSettings, ready: () => void): RedisContext {
  const {
    prefix,
    waitReplicas = 0,
    log,
    aliveMs = 10_000,
    renewalMs = 3000,
    mostEvents = 100_000,
  } = settings;
  if (!/^[\w-]+$/.test(prefix)) {
    throw new SoftquotaError(
      'configuration',
      '[store] PREFIX: expected are letters, digits, "_" and "-", at least one',
    );
  }
  const address = redisAddressOf(settings.address);
  const keys = redisKeys(prefix);
  const examine = examineServer(keys, address);
  const connection = new Connection({ address, examine, log, ready });
  const policyConnection = waitReplicas === 0 ? connection : new Connection({ address, examine });
  const writer = settings.writer ?? null;
  return {
    address,
    keys,
    connection,
    policyConnection,
    waitReplicas,
    aliveMs,
    renewalMs,
    mostEvents,
    writer,
  };
}
