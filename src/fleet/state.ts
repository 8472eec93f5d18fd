/** The problems between this host and the others, and their words in the log. */

import type { Log } from '../log.ts';
import { type Away, AwayState } from '../store/index.ts';
import type { Divergence } from './divergence.ts';
import type { NameTaken } from './hosts.ts';

export interface FleetState {
  /** Null while the shared store answers. */
  readonly away: Away | null;
  /** Null while the store takes the usage on this host, or is away itself. */
  readonly untold: Away | null;
  /** Null: the policy in the store is in force here. */
  readonly divergence: Divergence | null;
  /** Null: no other daemon has this host's name. */
  readonly nameTaken: NameTaken | null;
}

interface StoreStatesOptions {
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** Milliseconds since 1970. */
  now(): number;
}

/** Makes the states of the shared store itself, and of telling it the usage on this host. */
export function storeStates({ log, now }: StoreStatesOptions) {
  return {
    away: new AwayState({
      log,
      now,
      awayWords: 'the shared store cannot be used at the moment, so the last known data is used',
      backWords: 'the shared store can be used again',
    }),
    untold: new AwayState({
      log,
      now,
      awayWords: 'the usage on this host cannot be told to the other hosts at the moment',
      backWords: 'the usage on this host is told to the other hosts again',
    }),
  };
}
