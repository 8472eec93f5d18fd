/**
 * Model of names: at most one daemon writes under a name, whatever happens to the store, to the way there and
 * to daemons. None that serves ends, and in the end the one that began first has the name.
 */

import fc from 'fast-check';
import t from 'tap';
import { SoftquotaError } from '../../src/errors.ts';
import { HostName } from '../../src/fleet/name.ts';
import { isLong } from '../run-length.ts';
import { NamesServer } from './names.ts';

t.setTimeout(240_000);

const everyMs = 1000;
const stepMs = 250;
const host = 'one';

interface Daemon {
  readonly number: number;
  readonly token: string;
  readonly name: HostName;
  is: 'starting' | 'serving' | 'refused' | 'gone';
  /** Its way to the store is broken. */
  isCut: boolean;
  /** It stands still, and its clock does not. */
  isStalled: boolean;
  claimedAt: number;
}

class World {
  now = 0;
  server = new NamesServer();
  #replica = new NamesServer();
  #hasCopies = false;
  #hasFailedOver = false;
  readonly daemons: Daemon[] = [];
  readonly #waits: { readonly until: number; readonly go: () => void }[] = [];

  start(token: string): void {
    // One that runs has its disk to itself, unless somebody copied it; a copy that starts just when a
    // failover undoes the claims of seconds is told from its original only by the next claim, so the two are
    // not played together.
    const isCopy = this.daemons.some(
      each => each.token === token && ['starting', 'serving'].includes(each.is),
    );
    if (isCopy && this.#hasFailedOver) return;
    this.#hasCopies ||= isCopy;
    const number = this.daemons.length + 1;
    const daemon: Daemon = {
      number,
      token,
      is: 'starting',
      isCut: false,
      isStalled: false,
      claimedAt: Number.NEGATIVE_INFINITY,
      name: new HostName({
        ...{ host, token, everyMs, version: '1', now: () => this.now, clock: () => this.now },
        store: {
          claim: async claim => {
            if (daemon.isCut) throw new SoftquotaError('store_away', 'cut');
            const outcome = this.server.claim(claim, number, this.now);
            if (outcome === 'kept' || outcome === 'regained') daemon.claimedAt = this.now;
            return outcome;
          },
          release: async claim => this.server.release(claim),
        },
        log: { error: () => {}, info: () => {} },
        tell: () => {},
        kept: async () => {},
        wait: ms => new Promise<void>(go => this.#waits.push({ until: this.now + ms, go })),
      }),
    };
    this.daemons.push(daemon);
    daemon.name.begin().then(
      () => {
        if (daemon.is === 'starting') daemon.is = 'serving';
      },
      (error: unknown) => {
        if (!(error instanceof SoftquotaError)) throw error;
        // It serves although the store is away.
        if (daemon.is === 'starting') daemon.is = error.code === 'configuration' ? 'refused' : 'serving';
      },
    );
  }

  replicate(): void {
    this.#replica = this.server.copy();
  }

  failOver(): void {
    if (this.#hasCopies) return;
    this.#hasFailedOver = true;
    this.server = this.#replica.copy();
    this.replicate();
  }

  get serving(): readonly Daemon[] {
    return this.daemons.filter(({ is }) => is === 'serving');
  }

  /** Those that may tell, as whoever tells asks first where the last claim is older. */
  get telling(): readonly Daemon[] {
    return this.serving.filter(
      one => !one.isStalled && one.name.mayTell && this.now - one.claimedAt < everyMs,
    );
  }

  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= stepMs) {
      this.now += stepMs;
      for (const wait of this.#waits.splice(0)) {
        if (wait.until <= this.now) wait.go();
        else this.#waits.push(wait);
      }
      for (const one of this.serving) {
        if (one.isStalled) continue;
        await one.name.keep().catch((error: unknown) => {
          if (!(error instanceof SoftquotaError && error.code === 'store_away')) throw error;
        });
      }
      await new Promise(setImmediate);
      const numbers = this.telling.map(({ number }) => number);
      if (numbers.length > 1) throw new Error(`at ${this.now} these tell: ${numbers}`);
    }
  }
}

type Step = (world: World) => Promise<void> | void;

const which = fc.nat({ max: 3 });
const steps: fc.Arbitrary<readonly [string, Step]> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .integer({ min: 1, max: 24 })
      .map(n => [`pass ${n * stepMs}`, (world: World) => world.pass(n * stepMs)]),
  },
  {
    weight: 3,
    arbitrary: fc
      .constantFrom('a', 'b', 'c')
      .map(token => [`start ${token}`, (world: World) => world.start(token)]),
  },
  fc.constant(['flush', (world: World) => world.server.flush()]),
  { weight: 2, arbitrary: fc.constant(['replicate', (world: World) => world.replicate()]) },
  fc.constant(['fail over', (world: World) => world.failOver()]),
  ...(['cut', 'stall', 'kill', 'stop'] as const).map(what =>
    which.map((at): [string, Step] => [
      `${what} ${at}`,
      async world => {
        const one = world.serving.at(at);
        if (one === undefined) return;
        if (what === 'cut') one.isCut = !one.isCut;
        else if (what === 'stall') one.isStalled = !one.isStalled;
        else {
          one.is = 'gone';
          if (what === 'stop' && !one.isCut) await one.name.release();
        }
      },
    ]),
  ),
) as fc.Arbitrary<readonly [string, Step]>;

t.test('one at most tells under a name, and in the end the one that began first', async t => {
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { maxLength: 30 }), async list => {
      const world = new World();
      for (const [, step] of list) await step(world);
      for (const one of world.daemons) {
        one.isCut = false;
        one.isStalled = false;
      }
      await world.pass(30_000);
      const [first, ...others] = world.serving;
      if (first === undefined) return;
      if (!first.name.mayTell || first.name.taken !== null) throw new Error(`${first.number} does not tell`);
      for (const { number, name } of others) {
        if (name.mayTell || name.taken === null)
          throw new Error(`${number} does not say that it has no name`);
      }
    }),
    { numRuns: isLong ? 20_000 : 1000 },
  );
  t.pass('and none that serves has ended');
});

t.test(
  'after a FLUSHALL a daemon with the name of a living one is refused, and that one goes on',
  async t => {
    const world = new World();
    world.start('a');
    await world.pass(5000);
    const [living] = world.daemons;
    world.server.flush();
    world.start('b');
    await world.pass(5000);
    t.strictSame(
      world.daemons.map(({ is }) => is),
      ['serving', 'refused'],
    );
    t.ok(living?.name.mayTell);
    t.equal(living?.name.taken, null);
  },
);

t.test(
  'who stood still and finds nothing of the names any more waits, since another may have had it',
  async t => {
    const world = new World();
    world.start('a');
    world.start('a');
    await world.pass(3000);
    const [first] = world.serving;
    if (first === undefined) throw new Error('nobody serves');
    first.isStalled = true;
    await world.pass(3250);
    world.server.flush();
    first.isStalled = false;
    await world.pass(30_000);
    t.strictSame(
      world.telling.map(({ number }) => number),
      [1],
    );
  },
);
