/**
 * The way to the shared store is bad: hosts serve what they know, and lose nothing that was acknowledged.
 */

import t, { type Test } from 'tap';
import { isLong } from '../run-length.ts';
import { startSingle } from '../store/redis-servers.ts';
import { Passage, type Way } from './passage.ts';
import { Trial } from './trial.ts';

t.setTimeout(240_000);

/** In a long run the way is cut now and then, too, all the time. */

const ways: Readonly<Record<string, Way>> = {
  'swallows all': { does: 'swallows' },
  'refuses all': { does: 'refuses' },
  'takes seconds': { does: 'delays', ms: 1500 },
  'cuts each connection': { does: 'cuts', afterBytes: 100 },
};

t.test('a way to Redis that swallows, refuses, delays or cuts', async t => {
  const { servers } = await startSingle(t);
  const passage = await Passage.to(t, servers[0].port);
  const trial = await Trial.begin(t, { address: `redis://127.0.0.1:${passage.port}/0` });
  for (const [what, way] of Object.entries(ways)) {
    await trial.survives(what, {
      begin: () => passage.become(way),
      end: () => passage.become({ does: 'passes' }),
    });
  }
});

t.test(
  'a way to Redis that cuts now and then, and is slow, loses nothing of what goes on all the time',
  async t => {
    const { servers } = await startSingle(t);
    const passage = await Passage.to(t, servers[0].port);
    const trial = await Trial.begin(t, { address: `redis://127.0.0.1:${passage.port}/0` });
    if (isLong) {
      passage.become({ does: 'cuts', afterBytes: 20_000 });
      await busy(t, trial, 12);
    }
    passage.become({ does: 'delays', ms: 100 });
    await busy(t, trial, 3);
    passage.become({ does: 'passes' });
    await trial.settled('at the end');
  },
);

/** Rules and grows on both hosts; what is acknowledged is remembered. */
async function busy(t: Test, trial: Trial, rounds: number): Promise<void> {
  const statuses = new Map<number, number>();
  let asked = 0;
  await Promise.all(
    trial.servers.map(async server => {
      for (let round = 0; round < rounds; round += 1) {
        await trial.grow(server, 'alice', 10);
        const status = await trial.make(`rule-${rounds}-${++asked}`, -1, server);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    }),
  );
  t.comment(`answers: ${JSON.stringify([...statuses])}`);
  t.strictSame(
    [...statuses.keys()].filter(status => status !== 201 && status !== 503),
    [],
  );
}
