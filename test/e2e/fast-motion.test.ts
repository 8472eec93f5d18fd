/**
 * A day in fast motion: an owner comes near the limit and over it, is warned until a grace ends, is refused,
 * gets more for a time, and is refused again. The daemon's clock is set from one moment to the next, and
 * everything else is real: git, the hooks, an SMTP server, the daemon.
 */

import { setTimeout as delay } from 'node:timers/promises';
import t from 'tap';
import { z } from 'zod';
import { type Event, event } from '../../src/overview/index.ts';
import { spaceRequest } from '../../src/wire/index.ts';
import { type Mail, Mailbox } from '../notices/mailbox.ts';
import { addressOf, tokenOf } from './accounts.ts';
import { until } from './ask.ts';
import { Clone } from './clone.ts';
import { Server } from './server.ts';
import { WallClock } from './wall-clock.ts';

const check = '/v1/check?owner=alice&subject=size:repos:private';
const ini = {
  server: { ROOT_URL: 'https://git.example/quota/' },
  quota: { ENABLED: 'true', GRACE: '12h', GRACE_MOST: '10 %', WARN_AT: '80, 90' },
  'quota.default': { TOTAL: '1M' },
  metrics: { ENABLED: 'true' },
};

t.test('a day in fast motion', async t => {
  const mailbox = await Mailbox.open(t);
  const server = await Server.open(t, { started: false, ini, repositories: ['alice/app'] });
  const mail = { HOST: '127.0.0.1', PORT: String(mailbox.port), TLS: 'none', FROM: 'quota@git.example' };
  await server.configure({ mail: { ...mail, ADMINS: 'root@git.example', DIGEST: '0 8 * * 1' } });
  const clock = await WallClock.open(server.folder);
  await clock.set('2026-11-22T09:00:00Z'); // a Sunday
  const daemon = await server.start({ env: clock.env });
  await daemon.logged(/^notices are made of what happens/);

  const admin = (path: string, body?: object) => server.admin(`/admin${path}`, body && { body });
  const command = async (line: string) => (await server.softquota(line)).stdout;
  const events = async (kind: Event['kind']) =>
    z.array(event).parse(await admin(`/quota/events?kind=${kind}`));
  /** The next mail to this address; there has to be none to another in between. */
  const mailTo = async (address: string): Promise<Mail> => {
    const found = await until(
      () => mailbox.mails.shift() ?? null,
      () => `no mail to ${address}\n${daemon.log}`,
    );
    t.equal(found.to, address, found.subject);
    return found;
  };
  const gate = async () => {
    const { status, text } = await server.ask('gate', check);
    return { status, ...z.looseObject({ message: z.string() }).parse(JSON.parse(text)) };
  };
  /**
   * Asks the gate until it says something else; it must not before that moment, and has to within a second.
   */
  const turnsAt = async (moment: number, from: number, to: number) => {
    await clock.set(moment - 3000);
    t.equal((await gate()).status, from, 'three seconds before');
    for (;;) {
      const askedAt = clock.now;
      const { status } = await gate();
      if (status === from) {
        if (askedAt > moment + 1000) return t.fail(`${status} a second after`);
        await delay(10);
        continue;
      }
      t.equal(status, to);
      return t.ok(clock.now >= moment, 'not before the moment');
    }
  };
  /** Something else happens, so that nobody waits for the daemon to look at its clock by itself. */
  const other = () => server.reports('carol', (clock.now % 1000) + 1);

  await server.admin('/admin/users/alice', { method: 'PATCH', body: { email: 'alice@git.example' } });
  const sha1 = await tokenOf(server, 'alice', ['all']);
  const http = await addressOf(server);
  const own = async (path: string, body?: object) => {
    const headers = { authorization: `token ${sha1}`, 'content-type': 'application/json' };
    const init = body === undefined ? { headers } : { headers, method: 'POST', body: JSON.stringify(body) };
    return (await fetch(`${http}api/v1${path}`, init)).json();
  };
  const clone = await Clone.of(server, server.path('alice/app'));

  t.comment('09:00: near the limit');
  await clone.commit(830_000);
  t.match(await clone.push(), { code: 0 });
  await server.usageIs('alice', bytes => bytes > 800_000 && bytes < 900_000);
  t.match((await mailTo('alice@git.example')).subject, /80 % of the limit is reached: alice uses 8\d\d/);
  t.match(await gate(), {
    status: 200,
    warning: /^Quota warning: alice uses 8\d\d(\.\d)? kB of 1 MB \(8\d %\)\.$/,
  });

  t.comment('10:00: over it by less than the grace allows');
  await clock.set('2026-11-22T10:00:00Z');
  await clone.commit(190_000);
  const near = await clone.push();
  t.match(near, { code: 0, said: /Quota warning: alice uses/ });
  await server.usageIs('alice', bytes => bytes > 1_000_000 && bytes < 1_100_000);
  const over = await mailTo('alice@git.example');
  t.match(over.subject, /The limit is reached: alice uses 1\.0\d MB of 1 MB \(10\d %\)/);
  t.match(over.text, /Nothing is refused yet\. Refusals begin on 2026-11-22 22:00:\d\d UTC, or at 1\.1 MB\./);
  const [began] = await events('threshold');
  if (began?.kind !== 'threshold' || began.grace_until === undefined) throw new Error('no grace began');
  const end = Date.parse(began.grace_until);
  t.equal(new Date(end).toISOString().slice(0, 16), '2026-11-22T22:00');

  t.comment('11:00: the grace is shown wherever a decision is');
  await clock.set('2026-11-22T11:00:00Z');
  const begins = /Refusals begin on 2026-11-22 22:00:\d\d(?: UTC)?, or at 1\.1 MB\./;
  const grace = { until: /^2026-11-22T22:00:/, below: 1_100_000 };
  t.match(await gate(), { status: 200, allowed: true, grace, warning: begins });
  t.match((await server.ask('gate', check, { accept: 'text/plain' })).text, begins);
  t.match(await command('check alice --subject size:repos:private'), begins);
  t.match(await command('usage'), /alice .*in its grace/);
  t.match(await command('usage alice'), begins);
  t.match(await command('explain alice --subject size:repos:private'), begins);
  t.match(await admin('/quota/usage?state=grace'), [{ name: 'alice', state: 'grace', grace }]);
  t.match(await admin('/quota/overview'), { owners: { grace: 1, over: 0 } });
  t.match(await own('/user/quota/report'), { state: 'grace', grace });
  t.match(await own('/user/quota/check?subject=size:repos:private'), true);
  t.match((await server.ask('admin', '/metrics')).text, /^softquota_owners\{state="grace"\} 1$/m);
  await clone.commit(1000);
  t.match(await clone.push(), { code: 0, said: begins }, 'a pusher reads it at each push');

  t.comment('22:00: the grace ends, to the second');
  await turnsAt(end, 200, 413);
  await other();
  const ended = await mailTo('alice@git.example');
  t.match(ended.subject, /The grace has ended: alice uses 1\.0\d MB of 1 MB/);
  t.match(ended.text, /What adds data is refused until usage is below the limit\./);
  t.notMatch(ended.text, /Nothing is refused yet/);
  t.match(await events('grace'), [
    // The grace is written a moment after the event that announced it.
    { owner: 'alice', ended_by: 'time', until: /^2026-11-22T22:00:/, mode: 'enforce' },
  ]);
  t.match(await own('/user/quota/events?kind=grace'), [{ ended_by: 'time' }]);
  t.match((await gate()).message, /^Quota exceeded: .* The grace ended on 2026-11-22 22:00:\d\d UTC\.$/);
  await clone.commit(1000);
  t.match(await clone.push(), {
    code: 1,
    said: /Quota exceeded: alice uses 1\.0\d MB[\s\S]*The\s+grace\s+ended/,
  });
  t.match((await server.ask('admin', '/metrics')).text, /^softquota_owners\{state="over"\} 1$/m);
  t.match(await command('events --kind grace'), /alice .*the grace ended, refused from now on/);

  t.comment('23:00: more for a time');
  await clock.set('2026-11-22T23:00:00Z');
  const asked = { bytes: 1_000_000, until: '2026-11-23T09:00:00Z', why: 'the release' };
  const { id } = spaceRequest.parse(await own('/user/quota/requests', asked));
  t.match(
    (await mailTo('root@git.example')).subject,
    /alice asks for 1 MB more for alice until 2026-11-23 09:00/,
  );
  await admin(`/quota/requests/${id}/grant`, {});
  t.equal((await gate()).status, 200, 'at once');
  const granted = [await mailTo('alice@git.example'), await mailTo('alice@git.example')];
  const subjects = granted.map(({ subject }) => subject).sort();
  t.match(subjects, [
    /Below the limit again: alice uses 1\.0\d MB of 2 MB/,
    /Granted: 1 MB more for alice until/,
  ]);
  await clone.commit(200_000);
  t.match(await clone.push(), { code: 0 });
  await server.usageIs('alice', bytes => bytes > 1_200_000 && bytes < 1_600_000);

  t.comment('Monday, 08:00: the summary of the week');
  await clock.set('2026-11-23T08:00:00Z');
  const digest = await mailTo('root@git.example');
  t.match(digest.subject, /0 over, 0 near their limits/);
  t.match(digest.text, /Refused: 3\n/);

  t.comment('09:00: the allowance ends, to the second');
  await turnsAt(Date.parse(asked.until), 200, 413);
  await admin('/quota/rules', { name: 'another', limit: -1, subjects: ['size:all'] });
  const gone = [await mailTo('alice@git.example'), await mailTo('alice@git.example')];
  t.match(gone.map(({ subject }) => subject).sort(), [
    /The 1 MB that alice had for a time have ended/,
    /The limit is reached: alice uses 1\.2\d MB of 1 MB/,
  ]);
  t.match(await events('allowance'), [{ action: 'ended', by: null, until: '2026-11-23T09:00:00.000Z' }]);
  await clone.commit(1000);
  t.match(await clone.push(), { code: 1, said: /Quota exceeded: alice uses 1\.2\d MB of 1 MB/ });
  t.same(mailbox.mails, [], 'nothing else was sent');
});
