/**
 * Model of three hosts over a real Redis, which is replaced by older copies of itself, and reached over
 * connections that break, lose answers and are slow. No host undoes a change that is in force there. In the
 * end all have the same policy, with all that was acknowledged, and the same usage; or, if two different
 * changes were made upon one policy, they agree, or each of them says that they do not.
 */

import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import t, { type Test } from 'tap';
import { SoftquotaError } from '../../src/errors.ts';
import { Fleet } from '../../src/fleet/index.ts';
import { Ledger } from '../../src/ledger/index.ts';
import { assign, assignmentKind, createGroup, createRule, ruleKind } from '../../src/policy/index.ts';
import { openRedisStore } from '../../src/store/index.ts';
import { until } from '../e2e/ask.ts';
import { Passage } from '../e2e/passage.ts';
import { settings, silentLog, walk } from '../ledger/world.ts';
import { isLong, lengthOf } from '../run-length.ts';
import { emptyModel, storeOn } from '../store/model.ts';
import { startSingle } from '../store/redis-servers.ts';

const runs = lengthOf(60, 2000);
/** Worlds that run beside each other: most of their time is waiting. */
const worlds = isLong ? 12 : 6;

t.setTimeout(isLong ? 4 * 3_600_000 : 240_000);

const prefix = 'model';
const hosts = ['one', 'two', 'three'];

const awayIsNormal = (error: unknown) => {
  if (!(error instanceof SoftquotaError && ['conflict', 'store_away'].includes(error.code))) throw error;
};

/** A Redis, and what is done to it beside the hosts. */
interface Server {
  readonly port: number;
  readonly admin: Redis;
}

/** All keys with what they hold and how long they live, as of one moment. */
const dumpAll = `
local all = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
  table.insert(all, {key, redis.call('DUMP', key), tostring(math.max(0, redis.call('PTTL', key)))})
end
return all`;

/** Puts what one has at a moment, as a replica would have it, into another, in place of all that is there. */
async function copy(from: Server, to: Server): Promise<void> {
  const all = (await from.admin.callBuffer('eval', dumpAll, '0')) as [Buffer, Buffer, Buffer][]; // as the script has it
  const putting = to.admin.multi().flushall();
  for (const [key, dump, ttl] of all) putting.restore(key, ttl.toString(), dump);
  await putting.exec();
}

/** A daemon, what it keeps of its own, and its way to the store. */
class Host {
  readonly #kept = emptyModel();
  readonly #name: string;
  readonly way: Passage;
  server: Server;
  ledger: Ledger | null = null;
  fleet: Fleet | null = null;
  /** Rules that were in force at some time. */
  readonly #seen = new Set<string>();

  constructor(name: string, way: Passage, server: Server) {
    this.#name = name;
    this.way = way;
    this.server = server;
  }

  async start(): Promise<void> {
    const host = this.#name;
    const options = { host, settings, foldCase: true, log: silentLog };
    this.ledger = await Ledger.open({ ...options, store: storeOn(this.#kept) });
    const address = `redis://127.0.0.1:${this.way.port}/0`;
    const store = await openRedisStore({ address, prefix, writer: host });
    const common = { ledger: this.ledger, store, host, token: host, version: '1', log: silentLog };
    this.fleet = await Fleet.open({ ...common, now: Date.now, settleMs: 0, everyMs: 100 });
    this.fleet.start();
  }

  async stop(): Promise<void> {
    await this.fleet?.close();
    await this.ledger?.close();
    this.fleet = null;
    this.ledger = null;
  }

  connect(server: Server): void {
    this.server = server;
    this.way.lead(server.port);
  }

  /** True: it was acknowledged. */
  async rule(name: string): Promise<boolean> {
    try {
      await this.ledger?.documents.transact(({ changes }) =>
        createRule(changes, { name, limitBytes: 5, subjects: ['size:all'] }),
      );
      return true;
    } catch (error) {
      awayIsNormal(error);
      return false;
    }
  }

  /** Puts alice, if she is known, in a new group; true: that was acknowledged. */
  async govern(name: string): Promise<boolean> {
    try {
      return (
        (await this.ledger?.documents.transact(transaction => {
          const { changes } = transaction;
          const alice = transaction.owner('alice');
          if (alice === undefined) return false;
          createGroup(changes, { name, rules: [] });
          assign(changes, alice.id, name);
          return true;
        })) ?? false
      );
    } catch (error) {
      awayIsNormal(error);
      return false;
    }
  }

  async look(): Promise<void> {
    await this.fleet?.catchUp().catch(awayIsNormal);
  }

  get rules(): ReadonlySet<string> {
    const documents = this.ledger?.documents;
    const id = documents?.owners.named('alice')?.id;
    const groups = documents?.snapshot.get(assignmentKind, String(id)) ?? [];
    return new Set([
      ...[...(documents?.snapshot.all(ruleKind) ?? [])].map(([name]) => name),
      ...groups.map(({ group }) => group),
    ]);
  }

  get usage(): readonly number[] | undefined {
    return this.ledger?.ownerUsage('alice').usage;
  }

  /** Throws where a rule that was in force is no more. */
  check(): void {
    const { rules } = this;
    const gone = this.ledger === null ? [] : [...this.#seen].filter(name => !rules.has(name));
    if (gone.length > 0) throw new Error(`${this.#name} has undone ${gone}`);
    for (const name of rules) this.#seen.add(name);
  }
}

class World {
  master: Server;
  readonly replicas: Server[];
  readonly hosts: readonly Host[];
  readonly acknowledged = new Set<string>();
  /** Two servers that did not know of one another made different changes upon one policy. */
  isDivergent = false;
  readonly #servers: readonly Server[];
  #rules = 0;
  #bytes = 0;
  readonly #marks = new Map<string, string>();

  constructor(servers: readonly Server[], ways: readonly Passage[]) {
    const [master, ...others] = servers;
    if (master === undefined) throw new Error('there is no server');
    this.#servers = servers;
    this.master = master;
    this.replicas = others.slice(0, 2);
    this.hosts = ways.map((way, at) => new Host(hosts[at] ?? '', way, master));
    for (const { way } of this.hosts) way.lead(master.port);
  }

  async rule(...on: readonly Host[]): Promise<void> {
    const names = on.map(() => `rule-${++this.#rules}`);
    const made = await Promise.all(on.map((host, at) => host.rule(names[at] ?? '')));
    await this.#note();
    for (const [at, name] of names.entries()) if (made[at] === true) this.acknowledged.add(name);
  }

  async govern(host: Host): Promise<void> {
    const name = `group-${++this.#rules}`;
    const isMade = await host.govern(name);
    await this.#note();
    if (isMade) this.acknowledged.add(name);
  }

  store(host: Host): void {
    if (host.ledger !== null) walk(host.ledger, `alice/${hosts[this.hosts.indexOf(host)]}`, ++this.#bytes);
  }

  async replicate(at: number): Promise<void> {
    const replica = this.replicas[at];
    if (replica !== undefined) await copy(this.master, replica);
    await this.#note();
  }

  /**
   * A replica takes the master's place, with what it had; hosts stay at the old one until they connect anew.
   */
  async failOver(at: number): Promise<void> {
    const replica = this.replicas[at];
    const used = new Set([...this.hosts.map(({ server }) => server), ...this.replicas]);
    const spare = this.#servers.find(server => !used.has(server));
    if (replica === undefined || spare === undefined) return;
    this.master = replica;
    this.replicas[at] = spare;
    for (const index of this.replicas.keys()) await this.replicate(index);
  }

  /** Looks for two marks of one version. */
  async #note(): Promise<void> {
    for (const { admin } of this.#servers) {
      const generation = await admin.hget(`${prefix}:policy`, 'generation');
      for (const change of await admin.zrangebyscore(`${prefix}:changes`, '-inf', '+inf')) {
        const [version, mark = ''] = change.split(' ');
        const key = `${generation} ${version}`;
        const before = this.#marks.get(key) ?? mark;
        if (before !== mark) this.isDivergent = true;
        this.#marks.set(key, before);
      }
    }
  }

  check(): void {
    for (const host of this.hosts) host.check();
  }

  /** Null: all is as it should be in the end. */
  async fault(): Promise<string | null> {
    await this.#note();
    const parted = await Promise.all(this.hosts.map(host => isPartedFor(host)));
    if (this.isDivergent && parted.every(is => is)) return null;
    if (parted.includes(true)) return `parted: ${parted}`;
    const [first, ...others] = this.hosts.map(({ rules }) => [...rules].sort().join());
    if (others.some(other => other !== first)) return 'their policies differ';
    const lost = this.hosts.flatMap(({ rules }) => [...this.acknowledged].filter(name => !rules.has(name)));
    if (lost.length > 0 && !this.isDivergent) return `lost: ${lost}`;
    const usages = this.hosts.map(({ usage }) => usage);
    return usages.every(usage => isDeepStrictEqual(usage, usages[0])) ? null : 'their usage differs';
  }
}

/** Tells whether doctor on a host says that policies have parted. */
async function isPartedFor({ fleet }: Host): Promise<boolean> {
  if (fleet === null) return false;
  const records = await fleet.hosts().catch(() => []);
  return fleet.state.divergence !== null || records.some(({ isParted }) => isParted);
}

type Step = readonly [what: string, act: (world: World) => unknown];

const host = fc.nat({ max: 2 });
const replica = fc.nat({ max: 1 });
const on = (what: string, weight: number, act: (host: Host, world: World) => unknown) => ({
  weight,
  arbitrary: host.map(
    (at): Step => [
      `${what} ${at}`,
      world => {
        const one = world.hosts[at];
        return one === undefined ? undefined : act(one, world);
      },
    ],
  ),
});

const step = fc.oneof(
  on('rule', 6, (one, world) => world.rule(one)),
  on('rule, with the answer lost', 1, (one, world) => {
    one.way.loseAnswer();
    return world.rule(one);
  }),
  on('rule, while others do', 2, (one, world) =>
    world.rule(one, ...world.hosts.filter(other => other !== one)),
  ),
  on('govern', 4, (one, world) => world.govern(one)),
  on('store', 4, (one, world) => world.store(one)),
  on('look', 5, one => one.look()),
  on('slow', 1, one => one.way.become({ does: 'delays', ms: 30 })),
  on('quick', 2, one => one.way.become({ does: 'passes' })),
  on('connect', 5, (one, world) => one.connect(world.master)),
  on('restart', 1, async one => {
    await one.stop();
    await one.start();
  }),
  { weight: 2, arbitrary: replica.map((at): Step => [`replicate ${at}`, world => world.replicate(at)]) },
  { weight: 2, arbitrary: replica.map((at): Step => [`fail over to ${at}`, world => world.failOver(at)]) },
);

/** Servers, and a way for each host, for one world after the other. */
async function room(t: Test) {
  const started = await Promise.all(Array.from({ length: 6 }, () => startSingle(t, '--appendonly', 'no')));
  const servers = started.map(({ servers: [{ port }] }): Server => {
    const admin = new Redis(port);
    t.teardown(() => admin.disconnect());
    return { port, admin };
  });
  const ways = await Promise.all(hosts.map(() => Passage.to(t, servers[0]?.port ?? 0)));
  return { servers, ways };
}

async function run(
  { servers, ways }: Awaited<ReturnType<typeof room>>,
  steps: readonly Step[],
): Promise<World> {
  for (const { admin } of servers) await admin.flushall();
  const world = new World(servers, ways);
  // The store knows the hosts already: none has to wait whether another has its name.
  const [first] = servers;
  for (const name of hosts) {
    const about = { seenAt: 0, version: '1', isParted: false, roots: null };
    await first?.admin.hset(`${prefix}:hosts`, name, JSON.stringify(about));
  }
  try {
    for (const host of world.hosts) await host.start();
    for (const at of world.replicas.keys()) await world.replicate(at);
    for (const [, act] of steps) {
      await act(world);
      world.check();
    }
    for (const host of world.hosts) {
      host.way.become({ does: 'passes' });
      host.connect(world.master);
    }
    let fault: string | null = null;
    await until(
      async () => {
        for (const host of world.hosts) await host.look();
        world.check();
        fault = await world.fault();
        return fault === null ? true : null;
      },
      () => fault ?? '',
    );
    return world;
  } finally {
    for (const host of world.hosts) await host.stop();
  }
}

t.test('servers are replaced by older copies, connections break, daemons restart', async t => {
  let divergent = 0;
  let acknowledged = 0;
  await Promise.all(
    Array.from({ length: worlds }, async () => {
      const place = await room(t);
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 30 }), async steps => {
          const world = await run(place, steps);
          if (world.isDivergent) divergent += 1;
          acknowledged += world.acknowledged.size;
        }),
        { numRuns: Math.ceil(runs / worlds), endOnFailure: true },
      );
    }),
  );
  t.comment(`${acknowledged} changes were acknowledged`);
  t.ok(divergent < runs / 2, `in ${divergent} of ${runs} two changes were made upon one policy`);
});
