/** A ledger on a real store in a directory of its own, which can be closed and opened again. */

import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import type { Kind } from '../../src/documents/index.ts';
import { type Clock, Ledger, type LedgerSettings } from '../../src/ledger/index.ts';
import type { Log } from '../../src/log.ts';
import { type Leaf, leaves } from '../../src/quota/index.ts';
import { openStore, type Store, type UnitSourceStore } from '../../src/store/index.ts';

type WalkedRecord = Parameters<Ledger['walks']['record']>[0];

export const settings: LedgerSettings = {
  defaultGroups: [],
  enabled: true,
  refuseWhen: 'exceeded',
  uncovered: 'default',
  precise: false,
  mode: 'enforce',
  warnAt: [80, 90],
  totalBytes: 10_000,
};

export const silentLog: Log = { error: () => {}, warn: () => {}, info: () => {} };

export const repos: Leaf = 'size:repos:private';
export const lfs: Leaf = 'size:git:lfs';

/** Clocks that stand still until they are moved. */
export class SetClock implements Clock {
  wallMs = Date.parse('2026-11-21T09:00:00Z');
  monotonicMs = 1_000_000;

  wall(): number {
    return this.wallMs;
  }

  monotonic(): number {
    return this.monotonicMs;
  }

  pass(milliseconds: number): void {
    this.wallMs += milliseconds;
    this.monotonicMs += milliseconds;
  }
}

export function directoryFor(t: Test): string {
  const directory = fs.mkdtempSync(join(tmpdir(), 'sq-'));
  t.teardown(() => fs.rmSync(directory, { recursive: true, force: true }));
  return directory;
}

export interface WorldOptions {
  readonly foldCase?: boolean;
  readonly clock?: Clock;
  readonly directory?: string;
  readonly log?: Log;
  readonly kinds?: readonly Kind<unknown>[];
}

/** World in which a ledger is opened again and again. */
export class World {
  readonly file: string;
  readonly #options: WorldOptions;
  #ledger: Ledger | null = null;

  constructor(t: Test, options: WorldOptions = {}) {
    this.file = join(options.directory ?? directoryFor(t), 'softquota.db');
    this.#options = options;
    t.teardown(() => this.close());
  }

  async open(changed: WorldOptions = {}): Promise<Ledger> {
    await this.close();
    const { foldCase = true, clock, log = silentLog, kinds = [] } = { ...this.#options, ...changed };
    const store = await openStore({ file: this.file, log });
    const { unitSources } = store;
    const given = { unitSources, foldCase, log, kinds, ...(clock === undefined ? {} : { clock }) };
    this.#ledger = await openOn(store, given);
    return this.#ledger;
  }

  async close(): Promise<void> {
    const ledger = this.#ledger;
    this.#ledger = null;
    await ledger?.close();
  }
}

export function openOn(
  store: Store,
  options: WorldOptions & { readonly unitSources?: UnitSourceStore } = {},
): Promise<Ledger> {
  return Ledger.open({ store, host: 'here', settings, foldCase: true, log: silentLog, ...options });
}

/** A ledger whose store takes nothing while it is away; `warned` has what the log said. */
export async function openLosable(t: Test, clock: Clock = new SetClock()) {
  const store = await openStore({ file: join(directoryFor(t), 'softquota.db') });
  const kept = store.write.bind(store);
  const state = { isAway: false, warned: [] as string[] };
  store.write = async changes => {
    if (state.isAway) throw Object.assign(new Error('the disk is full'), { code: 'store_away' });
    await kept(changes);
  };
  const warn = (_fields: object, message: string) => void state.warned.push(message);
  const ledger = await openOn(store, { clock, log: { ...silentLog, warn } });
  t.teardown(() => ledger.close());
  return { ledger, state };
}

/** Every disk has enough free space. */
export const noFullDisks = { areAny: false, at: () => null } as const;

/** Has a first sweep end, as it does soon after the daemon starts for the first time. */
export function sweepOnce({ walks }: Pick<Ledger, 'walks'>): void {
  if (walks.lastSweep === null) walks.recordSweep({ startedAt: 0, finishedAt: 0, units: 0 }, [], () => true);
}

/** Records a walk that begins now and finds a unit at `/srv/git/OWNER/NAME.git`. */
export function walk(
  ledger: Pick<Ledger, 'walks'>,
  place: `${string}/${string}`,
  bytes: number,
  differing: Partial<WalkedRecord> = {},
): WalkedRecord {
  const owner = place.slice(0, place.indexOf('/'));
  const walked: WalkedRecord = {
    path: `/srv/git/${place}.git`,
    owner,
    leaf: repos,
    bytes,
    files: 1,
    partial: false,
    measuredAt: 1_795_000_000_000,
    seq: ledger.walks.nextSeq(),
    ...differing,
  };
  ledger.walks.record(walked);
  return walked;
}

export function used(ledger: Ledger, owner: string, leaf: Leaf = repos): number | undefined {
  return ledger.ownerUsage(owner).usage[leaves.indexOf(leaf)];
}

/** All owners with what they use. */
export function everything(ledger: Ledger): Readonly<Record<string, readonly number[]>> {
  return Object.fromEntries([...ledger.owners()].map(({ name, usage }) => [name, usage]));
}
