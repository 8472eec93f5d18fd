/** A daemon that is away, slow, stopped or talks nonsense: what hooks do that ask by curl, and by any program. */

import { testFaults } from './faults.ts';
import { allowed, plain } from './gate.ts';
import { byEachClient, World } from './world.ts';

testFaults('curl');

byEachClient(
  'a path that is under no storage template passes silently, also when faults deny',
  async (t, client) => {
    const world = await World.open(t, { client });
    await world.configure('softquota.onError', 'deny');
    world.gate.answer = plain(404, 'under no template');
    await world.commit('first');
    const push = await world.push(['HEAD:main']);
    t.equal(push.code, 0);
    t.equal(World.said(push), '');
  },
);

byEachClient('a decision stands though its text never ends', async (t, client) => {
  const world = await World.open(t, { client });
  await world.configure('softquota.timeout', '0.5');
  world.gate.answer = response => {
    response.writeHead(413, { 'X-Softquota-Decision': 'refused' });
    const more = () => {
      while (!response.destroyed && response.write(`Quota exceeded ${'x'.repeat(5000)}\n`)) {}
    };
    response.on('drain', more);
    more();
  };
  await world.commit('first');
  const push = await world.push(['HEAD:main']);
  t.equal(push.code, 1);
  const said = World.said(push).split('\n');
  t.ok(said.length <= 20);
  t.ok(said.every(line => line.length <= 1000));
  t.ok(push.elapsedMs < 5000);
});

byEachClient('a daemon that is away never fails a push that is done', async (t, client) => {
  const world = await World.open(t, { client });
  await world.configure('softquota.onError', 'deny');
  world.gate.answer = (response, question) => {
    allowed(response, question);
    t.equal(question.path, '/v1/check');
    void world.gate.close();
  };
  await world.commit('first');
  const push = await world.push(['HEAD:main']);
  t.equal(push.code, 0);
  t.equal(World.said(push), '');
});
