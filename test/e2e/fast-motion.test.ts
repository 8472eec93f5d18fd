/**
 * A day in fast motion: an owner comes over a limit, is warned until a grace ends, and is refused. The
 * daemon's clock is set from one moment to the next, and everything else is real: git, the hooks, the daemon.
 */

import t from 'tap';
import { z } from 'zod';
import { type Event, event } from '../../src/overview/index.ts';
import { until } from './ask.ts';
import { Clone } from './clone.ts';
import { Server } from './server.ts';
import { WallClock } from './wall-clock.ts';

const check = '/v1/check?owner=alice&subject=size:repos:private';
const ini = {
  quota: { ENABLED: 'true', GRACE: '12h', GRACE_MOST: '10 %', WARN_AT: '80, 90' },
  'quota.default': { TOTAL: '1M' },
  metrics: { ENABLED: 'true' },
};

t.test('a day in fast motion', async t => {
  const server = await Server.open(t, { started: false, ini, repositories: ['alice/app'] });
  const clock = await WallClock.open(server.folder);
  await clock.set('2026-11-22T09:00:00Z');
  await server.start({ env: clock.env });
  /** Resolves with the events of a kind, once there are so many. */
  const events = (kind: Event['kind'], count: number) =>
    until(async () => {
      const found = z.array(event).parse(await server.admin(`/admin/quota/events?kind=${kind}`));
      return found.length === count ? found : null;
    });
  const gate = async () => {
    const { status, text } = await server.ask('gate', check);
    return { status, ...z.looseObject({ message: z.string() }).parse(JSON.parse(text)) };
  };
  const clone = await Clone.of(server, server.path('alice/app'));
  const push = async (bytes: number) => {
    await clone.commit(bytes);
    return clone.push();
  };

  t.comment('09:00: near the limit');
  t.match(await push(830_000), { code: 0 });
  await server.usageIs('alice', bytes => bytes > 800_000 && bytes < 900_000);
  await events('threshold', 1);
  t.match(await gate(), { status: 200, warning: /^Quota warning: alice uses 8\d\d(\.\d)? kB of 1 MB/ });

  t.comment('10:00: over it by less than the grace allows');
  await clock.set('2026-11-22T10:00:00Z');
  t.match(await push(190_000), { code: 0, said: /Quota warning: alice uses/ });
  await server.usageIs('alice', bytes => bytes > 1_000_000 && bytes < 1_100_000);
  const [began] = await events('threshold', 2);
  if (began?.kind !== 'threshold' || began.grace_until === undefined) throw new Error('no grace began');
  const end = Date.parse(began.grace_until);
  t.equal(new Date(end).toISOString().slice(0, 16), '2026-11-22T22:00');

  t.comment('11:00: it is said at each push');
  await clock.set('2026-11-22T11:00:00Z');
  const begins = /Refusals begin on 2026-11-22 22:00:\d\d(?: UTC)?, or at 1\.1 MB\./;
  const grace = { until: /^2026-11-22T22:00:/, below: 1_100_000 };
  t.match(await gate(), { status: 200, grace, warning: begins });
  t.match(await server.admin('/admin/quota/usage?state=grace'), [{ name: 'alice', state: 'grace', grace }]);
  t.match((await server.ask('admin', '/metrics')).text, /^softquota_owners\{state="grace"\} 1$/m);
  t.match(await push(1000), { code: 0, said: begins });

  t.comment('22:00: the grace ends');
  await clock.set(end - 60_000);
  t.equal((await gate()).status, 200, 'a minute before');
  await clock.set(end);
  t.equal((await gate()).status, 413);
  await server.reports('carol', 1);
  t.match((await gate()).message, /^Quota exceeded: .* The grace ended on 2026-11-22 22:00:\d\d UTC\.$/);
  t.match(await push(1000), { code: 1, said: /Quota exceeded: alice uses[\s\S]*The\s+grace\s+ended/ });
  t.match(await events('grace', 1), [
    { owner: 'alice', ended_by: 'time', until: grace.until, mode: 'enforce' },
  ]);
  t.match((await server.ask('admin', '/metrics')).text, /^softquota_owners\{state="over"\} 1$/m);
  t.match(await server.done('events --kind grace'), /alice .*the grace ended, refused from now on/);
});
