/**
 * Hosts with one quota, without their disks and their daemons: ledgers that keep company over a real
 * Redis.
 */

import { join } from 'node:path';
import type { Test } from 'tap';
import { Fleet, type FleetOptions } from '../../src/fleet/index.ts';
import { identityKinds } from '../../src/identity/index.ts';
import { Ledger } from '../../src/ledger/index.ts';
import type { Log } from '../../src/log.ts';
import { forgeLinkKinds } from '../../src/measuring/index.ts';
import { createRule, ruleNamed } from '../../src/policy/index.ts';
import { openRedisStore, openStore, type SharedStore } from '../../src/store/index.ts';
import { directoryFor, settings, silentLog } from '../ledger/world.ts';

export const prefix = 'fleet';

export interface MemberOptions {
  /** It looks and listens by itself, as in a daemon; else only when a test has it do so. */
  readonly isLive?: boolean;
  readonly address: string;
  readonly host: string;
  /** Tells it from other daemons of its name; the same for all of a name unless given. */
  readonly token?: string;
  /** Directory of its own store; a new one unless given. */
  readonly directory?: string;
  readonly waitReplicas?: number;
  /** Value of `FleetOptions.settleMs`; 0 unless given. */
  readonly settleMs?: number;
  readonly hasForge?: boolean;
  readonly log?: Log;
  /** Wraps the shared store, for what lies between it and the host. */
  readonly through?: (store: SharedStore) => SharedStore;
}

/** A host that hears of others only when it is asked to, by `catchUp`, unless it is live. */
export interface Member {
  readonly ledger: Ledger;
  readonly fleet: Fleet;
  readonly directory: string;
  /** Ends it, as with its daemon. */
  close(): Promise<void>;
}

/** Makes a rule on a host. */
export const makeRule = ({ ledger }: Pick<Member, 'ledger'>, name: string) =>
  ledger.documents.transact(({ changes }) =>
    createRule(changes, { name, limitBytes: 5, subjects: ['size:all'] }),
  );

/** Tells whether a rule is in force on a host. */
export const knowsRule = ({ ledger }: Pick<Member, 'ledger'>, name: string) =>
  ruleNamed(ledger.documents.snapshot, name) !== undefined;

/** The shared store itself. */
export async function sharedStore(t: Test, address: string): Promise<SharedStore> {
  const store = await openRedisStore({ address, prefix, writer: 'test' });
  t.teardown(() => store.close());
  return store;
}

export async function member(
  t: Test,
  {
    address,
    host,
    token = `${host}'s`,
    directory = directoryFor(t),
    waitReplicas = 0,
    settleMs = 0,
    through = store => store,
    isLive = false,
    hasForge = false,
    log = silentLog,
  }: MemberOptions,
): Promise<Member> {
  const ledger = await ledgerIn(directory, host);
  const shared = await openRedisStore({ address, prefix, waitReplicas, writer: host });
  const options: FleetOptions = {
    ledger,
    store: through(isLive ? shared : { ...shared, follow: () => {} }),
    host,
    token,
    version: '1',
    log,
    now: Date.now,
    settleMs,
    hasForge,
    ...(isLive ? {} : { everyMs: 1e9 }),
  };
  const fleet = await Fleet.open(options).catch(async error => {
    await ledger.close();
    throw error;
  });
  let closed: Promise<void> | null = null;
  const close = () => {
    closed ??= fleet.close().then(() => ledger.close());
    return closed;
  };
  t.teardown(close);
  return { ledger, fleet, directory, close };
}

async function ledgerIn(directory: string, host: string): Promise<Ledger> {
  const store = await openStore({ file: join(directory, 'softquota.db') });
  return Ledger.open({
    ...{
      store,
      unitSources: store.unitSources,
      host,
      settings,
      kinds: [...identityKinds, ...forgeLinkKinds],
    },
    ...{ foldCase: true, log: silentLog },
  });
}
