/** Each operation of the table is caught by what the table says. */

import t from 'tap';
import { cachedWalks } from './cached-walks.ts';
import { makeGround } from './git-ground.ts';
import { operations } from './git-operations.ts';
import { independentCount, unitAt } from './world.ts';

t.setTimeout(300_000);

t.test('each operation is caught by what the table says', async t => {
  const ground = makeGround(t);
  const { repository } = ground;
  const { walk } = cachedWalks(t, unitAt(repository, 'repos'));
  const bytesThere = (): number => independentCount(repository).bytes;
  for (const [name, { by, prepare, run }] of Object.entries(operations)) {
    prepare(ground);
    walk();
    t.equal(walk({ trustsSignature: true }).isRead, false, `${name}: nothing is read before it`);
    const before = bytesThere();
    run(ground);
    const after = bytesThere();
    const swept = walk({ trustsSignature: true });
    const caught = swept.isRead ? 'signature' : after === before ? 'nothing' : 'VERIFY';
    t.equal(caught, by, `${name}: ${before} bytes became ${after}`);
    t.equal(swept.bytes, caught === 'VERIFY' ? before : after);
    t.equal(walk().bytes, after, `${name}: VERIFY is exact`);
  }
});
