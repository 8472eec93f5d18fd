/** Uploads through nginx and Caddy; traefik.long.test.ts has Traefik. */

import t from 'tap';
import { exceededWords, lfsDesk, openBehindProxy, testProxy } from './behind-proxy.ts';

t.setTimeout(600_000);

testProxy('nginx');
testProxy('caddy');

t.test('with the batch endpoint behind softquota, git-lfs is refused before it sends any object', async t => {
  const { server, forge, uses, url } = await openBehindProxy(t, 'nginx', { withBatch: true });
  const desk = await lfsDesk(server, url);
  await uses(900_000);
  t.match(await desk.push('a.bin'), { code: 0 });
  t.equal(forge.puts(), 1);

  await uses(1_200_000);
  forge.came.length = 0;
  const refused = await desk.push('b.bin');
  t.not(refused.code, 0);
  t.match(refused.stderr, exceededWords, 'the reason is shown');
  t.equal(refused.stderr.split(exceededWords).length, 2, 'and only once');
  t.equal(forge.puts(), 0, 'and no object is sent');
  t.equal(forge.came.filter(({ url }) => url.endsWith('/batch')).length, 1, 'the server is asked once');

  await server.stop('SIGKILL');
  t.match(await desk.push('c.bin'), { code: 0 }, 'without a daemon the server is asked alone');
});
