/**
 * Model of the order of changes, whatever becomes of the servers of a shared store, and of daemons: no host
 * undoes a change that is in force there. In the end all have the same policy, with all that was
 * acknowledged, and nobody repaired anything, unless two different changes were made upon one policy, or the
 * store was emptied.
 */

import fc from 'fast-check';
import t from 'tap';
import { SoftquotaError } from '../../src/errors.ts';
import { Fleet } from '../../src/fleet/index.ts';
import { Ledger } from '../../src/ledger/index.ts';
import { createRule, ruleKind } from '../../src/policy/index.ts';
import { settings, silentLog } from '../ledger/world.ts';
import { isLong } from '../run-length.ts';
import { emptyModel, storeOn as ownStoreOn } from '../store/model.ts';
import { MemoryServer, storeOn } from './memory-store.ts';

t.setTimeout(480_000);

const awayIsNormal = (error: unknown) => {
  if (!(error instanceof SoftquotaError && error.code === 'store_away')) throw error;
};

/** A daemon, what it keeps of its own, and the server that it is connected to. */
class FleetHost {
  readonly #kept = emptyModel();
  readonly #host: string;
  readonly #waitReplicas: number;
  server: MemoryServer;
  ledger: Ledger | null = null;
  fleet: Fleet | null = null;
  /** Rules that were in force at some time. */
  readonly #seen = new Set<string>();

  constructor(host: string, server: MemoryServer, waitReplicas: number) {
    this.#host = host;
    this.server = server;
    this.#waitReplicas = waitReplicas;
  }

  async start(): Promise<void> {
    const options = { host: this.#host, settings, foldCase: true, log: silentLog };
    this.ledger = await Ledger.open({ ...options, store: ownStoreOn(this.#kept) });
    this.fleet = await Fleet.open({
      ...{
        ledger: this.ledger,
        host: this.#host,
        token: this.#host,
        version: '1',
        log: silentLog,
        now: Date.now,
      },
      ...{ store: storeOn(() => this.server, this.#waitReplicas), settleMs: 0, everyMs: 1e9 },
    });
  }

  async stop(): Promise<void> {
    await this.fleet?.close();
    await this.ledger?.close();
    this.fleet = null;
    this.ledger = null;
  }

  /** True: it was acknowledged. */
  async rule(name: string): Promise<boolean> {
    const { ledger } = this;
    if (ledger === null) return false;
    return ledger.documents
      .transact(({ changes }) => createRule(changes, { name, limitBytes: 5, subjects: ['size:all'] }))
      .then(
        () => true,
        error => {
          awayIsNormal(error);
          return false;
        },
      );
  }

  async look(): Promise<void> {
    await this.fleet?.catchUp().catch(awayIsNormal);
  }

  get rules(): ReadonlySet<string> {
    return new Set([...(this.ledger?.documents.snapshot.all(ruleKind) ?? [])].map(([name]) => name));
  }

  /** Throws where a rule that was in force is no more. */
  check(): void {
    if (this.ledger === null) return;
    const { rules } = this;
    const gone = [...this.#seen].filter(name => !rules.has(name));
    if (gone.length > 0) throw new Error(`${this.#host} has undone ${gone}`);
    for (const name of rules) this.#seen.add(name);
  }
}

class World {
  master = new MemoryServer();
  readonly replicas: MemoryServer[] = [this.master.copy(), this.master.copy()];
  readonly fleetHosts: readonly FleetHost[];
  readonly acknowledged = new Set<string>();
  /** Positions that more than one change was made to, by servers that did not know of one another. */
  isDivergent = false;
  isEmptied = false;
  readonly #waitReplicas: number;
  #rules = 0;
  readonly #marks = new Map<string, string>();

  constructor(waitReplicas: number) {
    this.#waitReplicas = waitReplicas;
    this.fleetHosts = ['one', 'two', 'three'].map(host => new FleetHost(host, this.master, waitReplicas));
  }

  async rule(fleetHost: FleetHost, replica: number): Promise<void> {
    const name = `rule-${++this.#rules}`;
    const isAcknowledged = await fleetHost.rule(name);
    this.#note(fleetHost.server);
    if (!isAcknowledged) return;
    this.acknowledged.add(name);
    // It waits for one of them, whichever that is.
    if (this.#waitReplicas > 0) this.replicate(replica);
  }

  replicate(at: number): void {
    this.replicas[at] = this.master.copy();
  }

  failOver(at: number): void {
    this.master.replicas = 0;
    this.master = this.replicas[at]?.copy() ?? this.master;
    for (const index of this.replicas.keys()) this.replicate(index);
  }

  flush(): void {
    this.isEmptied = true;
    this.master.flush();
    for (const index of this.replicas.keys()) this.replicate(index);
  }

  #note({ position }: MemoryServer): void {
    if (position === null) return;
    const key = `${position.generation} ${position.version}`;
    const before = this.#marks.get(key) ?? position.mark;
    if (before !== position.mark) this.isDivergent = true;
    this.#marks.set(key, before);
  }

  check(): void {
    for (const fleetHost of this.fleetHosts) fleetHost.check();
  }
}

type Step = readonly [what: string, act: (world: World) => Promise<void> | void];

const fleetHost = fc.nat({ max: 2 });
const replica = fc.nat({ max: 1 });
const on = (
  what: string,
  weight: number,
  act: (fleetHost: FleetHost, world: World) => Promise<void> | void,
) => ({
  weight,
  arbitrary: fleetHost.map(
    (at): Step => [
      `${what} ${at}`,
      world => {
        const one = world.fleetHosts[at];
        return one === undefined ? undefined : act(one, world);
      },
    ],
  ),
});

const step = fc.oneof(
  ...[0, 1].map(at => on(`rule (${at})`, 4, (one, world) => world.rule(one, at))),
  on('look', 6, one => one.look()),
  on('connect', 5, (one, world) => {
    one.server = world.master;
  }),
  on('restart', 1, async one => {
    await one.stop();
    await one.start();
  }),
  { weight: 2, arbitrary: replica.map((at): Step => [`replicate ${at}`, world => world.replicate(at)]) },
  { weight: 2, arbitrary: replica.map((at): Step => [`fail over to ${at}`, world => world.failOver(at)]) },
);
const flush = fc.constant<Step>(['flush', world => world.flush()]);

/** Resolves with the world after these steps, and after all hosts have found one another again. */
async function ended(waitReplicas: number, steps: readonly Step[]): Promise<World> {
  const world = new World(waitReplicas);
  for (const one of world.fleetHosts) await one.start();
  for (const one of world.fleetHosts) await one.look();
  for (const at of world.replicas.keys()) world.replicate(at);
  for (const [, act] of steps) {
    await act(world);
    world.check();
  }
  for (const one of world.fleetHosts) one.server = world.master;
  for (let round = 0; round < 4; round += 1) {
    for (const one of world.fleetHosts) await one.look();
    world.check();
  }
  return world;
}

function mustAgree({ fleetHosts, acknowledged }: World): void {
  for (const { fleet, rules } of fleetHosts) {
    if (fleet?.state.divergence !== null) throw new Error(`${fleet?.state.divergence.message}`);
    const lost = [...acknowledged].filter(name => !rules.has(name));
    if (lost.length > 0) throw new Error(`lost: ${lost}`);
  }
  const [first, ...others] = fleetHosts.map(({ rules }) => [...rules].sort().join());
  if (others.some(other => other !== first)) throw new Error('they do not agree');
}

const runs = isLong ? 20_000 : 500;

for (const waitReplicas of [0, 1]) {
  t.test(`servers fail over and daemons restart, with WAIT_REPLICAS = ${waitReplicas}`, async t => {
    let settled = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async steps => {
        const world = await ended(waitReplicas, steps);
        if (!world.isDivergent) {
          mustAgree(world);
          settled += 1;
        }
        for (const one of world.fleetHosts) await one.stop();
      }),
      { numRuns: runs },
    );
    t.ok(settled > runs / 4, `${settled} of ${runs} ended without two changes upon the same policy`);
  });
}

t.test('a store that was emptied undoes nothing, and one command puts all of it back', async t => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(step, flush), { maxLength: 20 }), async steps => {
      const world = await ended(1, [...steps, ['flush', one => one.flush()]]);
      const [first] = world.fleetHosts.toSorted((a, b) => b.rules.size - a.rules.size);
      if (!world.isDivergent && first?.fleet?.state.divergence !== null) {
        await first?.fleet?.repair('known');
        for (const one of world.fleetHosts) await one.look();
        mustAgree(world);
      }
      for (const one of world.fleetHosts) await one.stop();
    }),
    { numRuns: runs / 2 },
  );
  t.pass();
});
