/** A daemon that was started anew decides at once from what it knew. */

import { join } from 'node:path';
import t from 'tap';
import { Clone } from './clone.ts';
import { counted } from './count.ts';
import { must } from './run.ts';
import { Server } from './server.ts';

t.test('a started daemon refuses from what it knew, before its first walk has ended', async t => {
  const server = await Server.open(t, { ini: { scan: { WORKERS: '1' } }, repositories: ['alice/app'] });
  const clone = await Clone.of(server, server.path('alice/app'));
  await clone.commit(1_500_000);
  await clone.push();
  const used = await counted(server.path('alice/app'));
  await server.usageIs('alice', bytes => bytes === used);
  await clone.commit(10);
  await server.stop();
  // Enough is to be walked that the first questions come before the end of it.
  const packages = join(server.folder, 'lfs', 'bob');
  await must('sh', ['-c', `mkdir -p "$0" && cd "$0" && seq 1 3000 | xargs mkdir`, packages]);
  await must('sh', ['-c', `cd "$0" && for d in *; do : >"$d/a"; : >"$d/b"; done`, packages]);

  const daemon = await server.start({ ready: false });
  const { status } = await server.ask('gate', `/v1/check?path=${server.path('alice/app')}`);
  t.equal(status, 413);
  t.match(await clone.push(), { code: 1, said: /^Quota exceeded: alice uses 1\.\d+ MB of 1 MB/ });
  t.equal((await daemon.logged(/^refused$/)).used, used, 'by the figure that was kept');
  await server.ready();
  await daemon.logged(/a sweep has ended/);
  const order = daemon.lines.map(({ msg }) => msg);
  t.ok(order.indexOf('refused') < order.indexOf('a sweep has ended'), 'and before the walk had ended');
  t.match(await clone.push(), { code: 1 }, 'and afterwards as well');
});
