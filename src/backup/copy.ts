/** Putting what a backup holds into a store that several machines share. */

import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { SoftquotaError } from '../errors.ts';
import type { EventRecord, Policy, SharedStore } from '../store/index.ts';
import type { Backup } from './document.ts';

export interface CopiedTo {
  readonly owners: number;
  readonly policy: number;
  readonly events: number;
  readonly verified: boolean;
}

const eventsAtOnce = 1000;

/**
 * Usage is no part of it: each machine says what is stored on it. Rejects with `conflict` where the store is not
 * empty or what is read back is not what was copied, and with `store_away`.
 */
export async function copyTo(
  store: SharedStore,
  backup: Backup,
  { verify }: { readonly verify: boolean },
): Promise<CopiedTo> {
  const policy: Policy = { owners: backup.owners, documents: backup.policy };
  const position = { generation: mark(), version: 1, mark: mark() };
  if ((await store.replace(policy, null, position, [])) === 'behind') {
    throw new SoftquotaError(
      'conflict',
      'the store holds a policy already: empty it, or choose another [store] PREFIX',
    );
  }
  for (let at = 0; at < backup.events.length; at += eventsAtOnce) {
    await store.write({ events: backup.events.slice(at, at + eventsAtOnce) });
  }
  await store.write({ levels: backup.levels });
  if (verify) await mustBeThere(store, policy, backup.events);
  return {
    owners: backup.owners.length,
    policy: backup.policy.length,
    events: backup.events.length,
    verified: verify,
  };
}

async function mustBeThere(
  store: SharedStore,
  wanted: Policy,
  events: readonly EventRecord[],
): Promise<void> {
  const { policy } = await store.policy();
  const sorted = (records: readonly object[]) =>
    records.map(record => JSON.stringify(Object.entries(record).sort())).sort();
  const isThere =
    isDeepStrictEqual(sorted(policy.owners), sorted(wanted.owners)) &&
    isDeepStrictEqual(sorted(policy.documents), sorted(wanted.documents));
  if (!isThere) throw different('policy');
  const found: EventRecord[] = [];
  for (;;) {
    const after = found.at(-1);
    const page = await store.events({ limit: eventsAtOnce, ...(after === undefined ? {} : { after }) });
    found.push(...page);
    if (page.length < eventsAtOnce) break;
  }
  if (!isDeepStrictEqual(sorted(found), sorted(events))) throw different('record of events');
}

function different(what: string): SoftquotaError {
  return new SoftquotaError(
    'conflict',
    `the ${what} in the store is not what was copied: somebody else writes there`,
  );
}

function mark(): string {
  return randomBytes(8).toString('hex');
}
