/** `softquota health`: what a container's health check and an administrator's script go by. */

import { rename } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import t from 'tap';
import { must } from './run.ts';
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

t.test('a unit that nothing can be read of is told by scan, /readyz, doctor and its owner', async t => {
  const server = await Server.open(t, { started: false });
  const unit = await server.repository('alice/app');
  await server.repository('bob/app');
  await must('chown', ['-R', '65534:65534', server.folder]);
  // Its names are known, and so it is a repository; but they cannot be listed.
  await must('chown', ['root', unit]);
  await must('chmod', ['711', unit]);
  await server.start({ through: ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'] });
  const readyz = async () => JSON.parse((await server.ask('gate', '/readyz')).text);
  const isPartial = async (owner: string) =>
    JSON.parse((await server.ask('trusted', `/v1/usage?owner=${owner}`)).text).partial;

  t.match(await server.softquota('scan'), { code: 1, stdout: /\n1 unit could not be measured at all, / });
  t.match(await readyz(), {
    status: 'ok',
    notes: [/^1 unit could not be measured at all, and 0 bytes count/],
  });
  t.match(await server.softquota('doctor'), {
    code: 1,
    stdout: new RegExp(`wrong \\(unread\\): ${unit}: EACCES`),
  });
  t.strictSame([await isPartial('alice'), await isPartial('bob')], [true, false]);

  await must('chmod', ['755', unit]);
  t.match(await server.softquota('scan'), { code: 0 });
  t.match(await readyz(), { notes: [] });
  t.equal(await isPartial('alice'), false);
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
