/**
 * Hosts with one quota, without their disks and their daemons: ledgers that keep company over a real
 * Redis.
 */

import { join } from 'node:path';
import type { Test } from 'tap';
import { Fleet, type FleetOptions, type Mounted } from '../../src/fleet/index.ts';
import { identityKinds } from '../../src/identity/index.ts';
import { Ledger } from '../../src/ledger/index.ts';
import { openRedisStore, openStore, type SharedStore } from '../../src/store/index.ts';
import { directoryFor, settings, silentLog } from '../ledger/world.ts';

export const prefix = 'fleet';

export interface MemberOptions {
  readonly address: string;
  readonly host: string;
  /** Directory of its own store; a new one unless given. */
  readonly directory?: string;
  readonly waitReplicas?: number;
  /** Value of `RedisSettings.renewalMs`; 0 unless given. */
  readonly renewalMs?: number;
  /** Value of `FleetOptions.settleMs`; 0 unless given. */
  readonly settleMs?: number;
  /** Storage that other hosts mount, too; a host with some finds out at each look who walks it. */
  readonly mounted?: Mounted;
  /** Wraps the shared store, for what lies between it and the host. */
  readonly through?: (store: SharedStore) => SharedStore;
}

/** A host that hears of others only when it is asked to, by `catchUp`. */
export interface Member {
  readonly ledger: Ledger;
  readonly fleet: Fleet;
  readonly directory: string;
  /** Ends it, as with its daemon. */
  close(): Promise<void>;
}

/** The shared store itself. */
export async function sharedStore(t: Test, address: string): Promise<SharedStore> {
  const store = await openRedisStore({ address, prefix });
  t.teardown(() => store.close());
  return store;
}

export async function member(
  t: Test,
  {
    address,
    host,
    directory = directoryFor(t),
    waitReplicas = 0,
    renewalMs = 0,
    settleMs = 0,
    mounted = new Map(),
    through = store => store,
  }: MemberOptions,
): Promise<Member> {
  const ledger = await ledgerIn(directory, host);
  const shared = await openRedisStore({ address, prefix, waitReplicas, renewalMs, writer: host });
  const options: FleetOptions = {
    ledger,
    store: through({ ...methodsOf(shared), follow: () => () => {} }),
    host,
    token: `${host}'s`,
    version: '1',
    log: silentLog,
    now: Date.now,
    mounted,
    settleMs,
    everyMs: mounted.size > 0 ? 0 : 1e9,
  };
  const fleet = await Fleet.open(options);
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
    ...{ store, unitSources: store.unitSources, host, settings, kinds: identityKinds },
    ...{ foldCase: true, log: silentLog },
  });
}

/** The ledger of a host for itself. */
export async function ledgerOf(t: Test, host: string): Promise<Ledger> {
  const ledger = await ledgerIn(directoryFor(t), host);
  t.teardown(() => ledger.close());
  return ledger;
}

/** The store's methods as an object's own, so that one of them can be put in another's place. */
function methodsOf(store: SharedStore): SharedStore {
  return {
    load: () => store.load(),
    events: query => store.events(query),
    levels: () => store.levels(),
    write: changes => store.write(changes),
    state: () => store.state(),
    policy: () => store.policy(),
    commit: (...all) => store.commit(...all),
    writeVolatile: change => store.writeVolatile(change),
    volatile: names => store.volatile(names),
    restore: (...all) => store.restore(...all),
    replace: (...all) => store.replace(...all),
    enroll: owners => store.enroll(owners),
    changesAfter: (number, limit) => store.changesAfter(number, limit),
    markOf: version => store.markOf(version),
    sharesOf: ownerKeys => store.sharesOf(ownerKeys),
    sharePages: () => store.sharePages(),
    follow: told => store.follow(told),
    claim: claim => store.claim(claim),
    release: claim => store.release(claim),
    takeTask: (task, host) => store.takeTask(task, host),
    leaveTask: (task, host) => store.leaveTask(task, host),
    walkers: () => store.walkers(),
    takeWalk: (name, host) => store.takeWalk(name, host),
    leaveWalk: (name, host) => store.leaveWalk(name, host),
    say: text => store.say(text),
    listen: heard => store.listen(heard),
    hosts: () => store.hosts(),
    forgetHost: host => store.forgetHost(host),
    advice: () => store.advice(),
    close: () => store.close(),
  };
}
