/** Quotas that are off, and quotas that only report. */

import t from 'tap';
import { Server } from './server.ts';

t.test('with ENABLED unset or false nothing is ever refused, whatever is used and the limit', async t => {
  const server = await Server.open(t, { ini: { quota: { ENABLED: null } }, repositories: ['alice/app'] });
  const clone = await server.filled('alice/app', 1_500_000);
  for (const [ENABLED, TOTAL] of [
    [null, '1'],
    [null, '0'],
    ['false', '1M'],
    ['false', '0'],
  ] as const) {
    await server.reload({ quota: { ENABLED }, 'quota.default': { TOTAL } });
    await clone.commit(1000);
    t.match(await clone.push(), { code: 0, said: '' }, `with ENABLED = ${ENABLED} and TOTAL = ${TOTAL}`);
    await server.done(`check ${server.path('alice/app')}`);
  }
  t.notMatch(server.daemon.log, /refused/);
});

t.test('with MODE = report nothing is refused, and the log tells what would be', async t => {
  const server = await Server.open(t, { ini: { quota: { MODE: 'report' } }, repositories: ['alice/app'] });
  const clone = await server.filled('alice/app', 1_500_000);
  await clone.commit(1000);
  t.match(await clone.push(), { code: 0, said: '' }, 'the pusher reads nothing');
  const line = await server.daemon.logged(/^would be refused$/);
  t.match(line, { owner: 'alice', subject: 'size:repos:private', limit: 1_000_000 });
  t.ok(Number(line.used) > 1_500_000);
  const asked = await server.ask('gate', '/v1/check?owner=alice&subject=size:git:all');
  t.equal(asked.headers['x-softquota-decision'], 'allowed');
  t.match(JSON.parse(asked.text), { allowed: true, would_refuse: true, mode: 'report' });

  await server.reload({ quota: { MODE: 'enforce' } });
  t.match(await clone.push(['main:refs/heads/a']), { code: 0 }, 'no object comes');
  await clone.commit(10);
  t.match(await clone.push(), { code: 1, said: /^Quota exceeded/ }, 'now it is');
});
