/** Pushes whose client hangs up: git stores them, and tells nobody. */

import t from 'tap';
import { Clone } from './clone.ts';
import { pushAndHangUp } from './hang-up.ts';
import { must } from './run.ts';
import { Server } from './server.ts';

t.setTimeout(300_000);

const pushes = 10;
const pushBytes = 8_000_000;

t.test('who hangs up during each push is refused once the limit is reached', async t => {
  const server = await Server.open(t, {
    ini: { 'quota.default': { TOTAL: '10M' } },
    repositories: ['alice/app'],
  });
  const bare = server.path('alice/app');
  const clone = await Clone.of(server, bare);
  const commits: string[] = [];
  for (let push = 0; push < pushes; push++) {
    await clone.git('checkout', '-q', '--orphan', `branch-${push}`);
    await clone.git('rm', '-rfq', '--ignore-unmatch', '.');
    await clone.commit(pushBytes);
    commits.push(await clone.git('rev-parse', 'HEAD'));
  }
  let refused = 0;
  for (const [push, commit] of commits.entries()) {
    const ended = await pushAndHangUp(clone, bare, commit, `branch-${push}`);
    if (ended.refused) refused += 1;
    else t.equal(ended.signal, 'SIGPIPE', 'it is killed while it reports, before post-receive');
  }
  const stored = (await must('git', ['-C', bare, 'for-each-ref'])).split('\n').length;
  t.equal(refused + stored, pushes);
  t.ok(refused > pushes / 2, `${refused} of ${pushes} were refused, ${stored} stored`);
  await server.usageIs('alice', used => used > stored * pushBytes);
});

t.test('a repository that is made by such a push is measured without a sweep', async t => {
  const server = await Server.open(t, { repositories: ['alice/app'] });
  const bare = server.path('alice/new');
  // A forge asks before it makes the repository.
  t.equal((await server.ask('gate', `/v1/check?path=${bare}`)).status, 200);
  await must('git', ['init', '-q', '--bare', bare]);
  const clone = await Clone.of(server, bare);
  await clone.commit(200_000);
  const { signal } = await pushAndHangUp(clone, bare, await clone.git('rev-parse', 'HEAD'), 'main');
  t.equal(signal, 'SIGPIPE');
  await server.usageIs('alice', used => used > 200_000);
});
