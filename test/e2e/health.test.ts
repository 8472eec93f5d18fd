/** `softquota health`: what a container's health check and an administrator's script go by. */

import { rename } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import t from 'tap';
import { Server } from './server.ts';

t.test('health is 0 while the gate answers, with --ready while its answers can be relied on', async t => {
  const server = await Server.open(t, { repositories: ['alice/app'] });
  t.match(await server.softquota('health'), { code: 0, stdout: 'ok\n', stderr: '' });
  t.match(await server.softquota('health --ready'), { code: 0, stdout: 'ok\n', stderr: '' });

  await rename(join(server.folder, 'git'), join(server.folder, 'git.away'));
  await server.scan();
  t.equal((await server.softquota('health')).code, 0, 'it answers all the same');
  const ready = await server.softquota('health --ready');
  t.match(ready, { code: 1, stdout: /^not ready\nstorage root .*\/git: / });
  const json = await server.softquota('health --ready --json');
  t.match(JSON.parse(json.stdout), { status: 'not ready', reasons: [/storage root/] });
});

t.test('health is 1 where the daemon does not answer, or something else does', async t => {
  const server = await Server.open(t, { started: false });
  t.match(await server.softquota('health'), { code: 1, stdout: /^no answer\nno daemon answers at / });
  const other = createServer((_request, response) => response.end('{"status":1}'));
  await new Promise<void>(resolve => other.listen(server.socket('gate'), resolve));
  t.teardown(() => other.close());
  t.match(await server.softquota('health'), {
    code: 1,
    stdout: 'no answer\nthe answer is not from a gate\n',
  });
});
