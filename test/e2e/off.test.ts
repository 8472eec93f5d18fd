/** Quotas that are off, and quotas that only report. */

import t from 'tap';
import { Clone } from './clone.ts';
import { Server } from './server.ts';

for (const [what, keys] of Object.entries({
  'ENABLED unset': { ENABLED: null },
  'ENABLED = false': { ENABLED: 'false' },
})) {
  t.test(`with ${what} nothing is ever refused, whatever is used and whatever the limit`, async t => {
    const server = await Server.open(t, { ini: { quota: keys }, repositories: ['alice/app'] });
    const clone = await Clone.of(server, server.path('alice/app'));
    await clone.commit(1_500_000);
    t.match(await clone.push(), { code: 0, said: '' });
    await server.usageIs('alice', used => used > 1_500_000);
    for (const TOTAL of ['1M', '1', '0']) {
      const from = server.daemon.lines.length;
      await server.configure({ 'quota.default': { TOTAL } });
      server.daemon.child.kill('SIGHUP');
      await server.daemon.logged(/configuration is reloaded/, from);
      await clone.commit(1000);
      t.match(await clone.push(), { code: 0, said: '' }, `with TOTAL = ${TOTAL}`);
      t.equal((await server.softquota(['check', server.path('alice/app')])).code, 0);
    }
    t.notMatch(server.daemon.log, /refused/);
  });
}

t.test('with MODE = report nothing is refused, and the log tells what would be', async t => {
  const server = await Server.open(t, { ini: { quota: { MODE: 'report' } }, repositories: ['alice/app'] });
  const clone = await Clone.of(server, server.path('alice/app'));
  await clone.commit(1_500_000);
  await clone.push();
  await server.usageIs('alice', used => used > 1_500_000);
  await clone.commit(1000);
  t.match(await clone.push(), { code: 0, said: '' }, 'the pusher reads nothing');
  const line = await server.daemon.logged(/^would be refused$/);
  t.match(line, { owner: 'alice', subject: 'size:repos:private', limit: 1_000_000 });
  t.ok(Number(line.used) > 1_500_000);
  const asked = await server.ask('gate', '/v1/check?owner=alice&subject=size:git:all');
  t.equal(asked.headers['x-softquota-decision'], 'allowed');
  t.match(JSON.parse(asked.text), { allowed: true, would_refuse: true, mode: 'report' });

  await server.configure({ quota: { MODE: 'enforce' } });
  server.daemon.child.kill('SIGHUP');
  await server.daemon.logged(/configuration is reloaded/);
  t.match(await clone.push(['main:refs/heads/a']), { code: 0 }, 'no object comes');
  await clone.commit(10);
  t.match(await clone.push(), { code: 1, said: /^Quota exceeded/ }, 'now it is');
});
