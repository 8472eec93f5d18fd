/** Putting what a daemon knows where it is to be from now on: into a store that hosts share, or back. */

import { isDeepStrictEqual } from 'node:util';
import { SoftquotaError } from '../errors.ts';
import type { Ledger } from '../ledger/index.ts';
import { newGeneration, type RecordStore, type SharedPolicy, type SharedStore } from '../store/index.ts';
import type { CopiedTo } from '../wire/index.ts';
import { type Backup, eventsIn, type Happened, happenedIn } from './document.ts';

interface CopyOptions {
  /** Reads all of it back, and compares. */
  readonly verify: boolean;
}

const eventsAtOnce = 1000;

/**
 * Usage is no part of it: each host says what is stored on it. The policy comes last, so that what broke
 * off can be begun again. Rejects with `conflict` where the store is not empty or what is read back is not
 * what was copied, and with `store_away`.
 */
export async function copyTo(store: SharedStore, backup: Backup, { verify }: CopyOptions): Promise<CopiedTo> {
  const policy: SharedPolicy = { owners: backup.owners, documents: backup.policy };
  if ((await store.state()).position !== null) throw notEmpty();
  const happened = happenedIn(backup);
  await putHappened(store, happened);
  if (backup.graces !== undefined) await store.writeVolatile({ documents: backup.graces, goneDocuments: [] });
  if ((await store.replace(policy, null, newGeneration(), [])) === 'conflict') throw notEmpty();
  if (verify) {
    mustBeSame('policy', await policyIn(store), recordsOf(policy));
    mustBeSame('record of events', await eventsIn(store), happened.events);
  }
  return {
    owners: policy.owners.length,
    policy: policy.documents.length,
    events: backup.events.length,
    verified: verify,
  };
}

/**
 * Brings home what only the shared store has, what happened and what was told of it: with that this host's
 * own store can serve alone. Rejects with `store_away`, and with `conflict` where what is read back is not
 * what was copied.
 */
export async function bringHome(
  ledger: Pick<Ledger, 'documents' | 'eventLog' | 'kept'>,
  { verify }: CopyOptions,
): Promise<CopiedTo> {
  await ledger.kept();
  const own = ledger.eventLog.own;
  const events = await eventsIn(ledger.eventLog);
  const levels = await ledger.eventLog.levels();
  const present = new Set(levels.map(({ ownerId }) => ownerId));
  const gone = (await own.levels()).map(({ ownerId }) => ownerId).filter(id => !present.has(id));
  await own.write({ goneLevels: gone });
  await putHappened(own, { events, levels });
  if (verify) {
    const copied = new Set(events.map(({ id }) => id));
    const found = (await eventsIn(own)).filter(({ id }) => copied.has(id));
    mustBeSame('record of events', found, events);
  }
  return {
    owners: [...ledger.documents.owners.all].length,
    policy: [...ledger.documents.records()].length,
    events: events.length,
    verified: verify,
  };
}

async function putHappened(to: Pick<RecordStore, 'write'>, { events, levels }: Happened): Promise<void> {
  for (let at = 0; at < events.length; at += eventsAtOnce) {
    await to.write({ events: events.slice(at, at + eventsAtOnce) });
  }
  await to.write({ levels });
}

async function policyIn(store: SharedStore): Promise<readonly object[]> {
  return recordsOf((await store.policy()).policy);
}

function recordsOf({ owners, documents }: SharedPolicy): readonly object[] {
  return [...owners, ...documents];
}

/** In any order. */
function mustBeSame(what: string, found: readonly object[], wanted: readonly object[]): void {
  const sorted = (records: readonly object[]) =>
    records.map(record => JSON.stringify(Object.entries(record).sort())).sort();
  if (isDeepStrictEqual(sorted(found), sorted(wanted))) return;
  throw new SoftquotaError(
    'conflict',
    `the ${what} that was read back is not the one that was copied: another program writes to the store`,
  );
}

function notEmpty(): SoftquotaError {
  return new SoftquotaError(
    'conflict',
    'the store already has a policy, which is not changed. If it is the right one, set [store] ADAPTER = redis and ' +
      'restart the daemon; otherwise empty the store, or choose another [store] PREFIX with --prefix',
  );
}
