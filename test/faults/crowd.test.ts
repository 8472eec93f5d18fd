/** Many pushes at once: each is answered, and none passes because there were many. */

import t from 'tap';
import { Clone, objectsIn } from '../e2e/clone.ts';
import { Server } from '../e2e/server.ts';
import { isLong } from '../run-length.ts';

const crowd = isLong ? 500 : 60;
t.setTimeout(600_000);

t.test(
  `of ${crowd} pushes at once by an owner over the limit every one is refused with the reason`,
  async t => {
    const server = await Server.open(t, { repositories: ['alice/app'] });
    const bare = server.path('alice/app');
    const clone = await Clone.of(server, bare);
    await clone.commit(1_500_000);
    await clone.push();
    await server.usageIs('alice', used => used > 1_500_000);
    await clone.commit(100);
    const before = await objectsIn(bare);
    const pushes = await Promise.all(
      Array.from({ length: crowd }, (_, n) => clone.push([`main:refs/heads/b${n}`])),
    );
    t.equal(
      pushes.filter(({ code, said }) => code === 1 && /^Quota exceeded: alice/.test(said)).length,
      crowd,
    );
    t.strictSame(await objectsIn(bare), before);
  },
);

// Each a connection of its own; beyond 4,096 the gate makes room by ending idle ones.
const questions = Math.min(crowd * 10, 4000);

t.test(`${questions} questions on as many connections are all answered at once`, async t => {
  const server = await Server.open(t, { ini: { 'quota.default': { TOTAL: '0' } } });
  const asked = Array.from({ length: questions }, () =>
    server.ask('gate', '/v1/check?owner=alice&subject=size:git:lfs'),
  );
  const answers = await Promise.all(asked);
  t.equal(answers.filter(({ status }) => status === 413).length, questions);
});
