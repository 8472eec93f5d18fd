/** Places of shared stores for tests, and what lies in them. */

import type { Test } from 'tap';
import type { Change, Position, RedisSettings, SharedStore } from '../../src/store/index.ts';
import { sortedRecords } from './model.ts';

export interface SharedPlace {
  readonly prefix: string;
  open(settings?: Partial<RedisSettings>): Promise<SharedStore>;
}

/** A store that ends with the test. */
export async function opened(
  t: Test,
  place: SharedPlace,
  settings: Partial<RedisSettings> = {},
): Promise<SharedStore> {
  const store = await place.open(settings);
  t.teardown(() => store.close());
  return store;
}

export function position(version: number, differing: Partial<Position> = {}): Position {
  return { generation: 'first', version, mark: `mark-${version}`, ...differing };
}

export const rule = (key: string, text = '{}') => ({ kind: 'rule', key, text });

/** All of the log after a change. */
export async function allAfter(store: SharedStore, number: number): Promise<readonly Change[]> {
  const changes: Change[] = [];
  for (let last = number; ; ) {
    const some = await store.changesAfter(last, 10);
    if (some === null) throw new Error(`a gap after ${last}`);
    if (some.length === 0) return changes;
    changes.push(...some);
    last = some.at(-1)?.number ?? last;
  }
}

export const documentsOf = async (store: SharedStore) =>
  sortedRecords({ ...(await store.policy()).policy, shares: [] }).documents;
