/** Places of shared stores for tests, and what lies in them. */

import type { Test } from 'tap';
import {
  type DocumentRecord,
  type OwnerRecord,
  type PolicyChange,
  type Position,
  placeIn,
  type RedisSettings,
  type SharedStore,
  type ShareRecord,
  usageText,
} from '../../src/store/index.ts';
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

/** Makes one change of the policy. */
export async function commit(
  store: Pick<SharedStore, 'commit'>,
  change: PolicyChange,
  basis: Position,
  next: Position,
): Promise<'kept' | 'conflict'> {
  const made = await store.commit(change, basis, next.mark);
  return made === null ? 'conflict' : 'kept';
}

let marks = 0;

/** Puts documents and owners into the policy, which is begun where there is none. */
export async function put(
  store: SharedStore,
  documents: readonly DocumentRecord[],
  owners: readonly OwnerRecord[] = [],
): Promise<void> {
  const { position: at } = await store.state();
  if (at === null) await store.replace({ owners, documents }, null, [position(1)], []);
  else if ((await store.commit({ documents, owners }, at, `put-${++marks}`)) === null) {
    throw new Error('somebody else has changed it');
  }
}

/** Tells what a host stores, upon what it told last; `gone` are keys of owners. */
export async function tell(
  store: SharedStore,
  host: string,
  shares: readonly ShareRecord[],
  gone: readonly string[] = [],
): Promise<'kept' | 'conflict'> {
  const from = (await store.state()).usage.get(host) ?? null;
  const { epoch, number } = placeIn(from ?? '') ?? { epoch: 'first', number: -1 };
  const usage = new Map(shares.map(share => [share.ownerKey, usageText(share, [])]));
  return store.tellUsage(host, { from, to: `${epoch} ${number + 1}`, usage, gone, largest: new Map() });
}

/** All that these hosts told, in order. */
export async function sharesOf(store: SharedStore, ...hosts: readonly string[]) {
  const shares: ShareRecord[] = [];
  for (const host of hosts) {
    for await (const page of store.usage(host)) shares.push(...page.flatMap(([, share]) => share ?? []));
  }
  return sortedRecords({ owners: [], documents: [], shares }).shares;
}

export const documentsOf = async (store: SharedStore) =>
  sortedRecords({ ...(await store.policy()).policy, shares: [] }).documents;
