/** `softquota request` and `softquota allowance`: what they do, print, and exit with. */

import t from 'tap';
import { z } from 'zod';
import { allowance, ownerReport, spaceRequest } from '../../src/wire/index.ts';
import { Server } from './server.ts';
import { askForMore } from './space-requests.ts';

t.setTimeout(300_000);

const server = await Server.open(t);

t.test('requests are listed, granted and declined', async t => {
  t.equal(await server.done('request list'), 'No open requests.\n');
  const [alice, bob] = await askForMore(server, ['alice', 'bob']);
  const listed = await server.done('request list');
  t.match(listed, /^ID +OWNER +ASKED BY +ASKED AT +MORE +UNTIL +STATE +WHY\n/);
  t.match(listed, new RegExp(`${alice?.id} +alice +alice .* 5 MB .* open +the release needs it\n`));
  t.match(await server.done(`request grant ${alice?.id}`), /^alice has 5 MB more until \d{4}-/);
  const decline = `request decline ${bob?.id} --words`;
  const declined = spaceRequest.parse(await server.json(decline, 'delete the old builds'));
  t.match(declined, { state: 'declined', answer: { words: 'delete the old builds', by: null } });
  t.equal(await server.done('request list'), 'No open requests.\n');
  const all = z.array(spaceRequest).parse(await server.json('request list --state all'));
  t.match(all, [
    { owner: 'bob', state: 'declined' },
    { owner: 'alice', state: 'granted' },
  ]);
  const again = await server.softquota(`request grant ${alice?.id}`);
  t.match(again, { code: 1, stderr: /was granted already/ });
  t.match(await server.softquota('request grant nothing'), { code: 1, stderr: /no request nothing/ });
  t.match(await server.softquota('request decline nothing'), { code: 2, stderr: /--words/ });
});

t.test('a grant can be of another size and for another time', async t => {
  const [carol] = await askForMore(server, ['carol']);
  const id = carol?.id ?? '';
  for (const [wrong, stderr] of [
    ['--size much', /--size much: not a size/],
    ['--size 0', /--size 0: not more than nothing/],
    ['--for ever', /--for ever: not a duration; write a whole number/],
    ['--until tomorrow', /--until tomorrow: not a moment/],
    ['--until 2099-12-24', /--until 2099-12-24: not a moment/],
    ['--until 2020-01-01T00:00:00Z', /until: the time is in the past/],
    ['--for 1d --until 2099-01-01T00:00:00Z', /cannot be used with/],
  ] as const)
    t.match(await server.softquota(`request grant ${id} ${wrong}`), { code: 2, stdout: '', stderr });
  const until = new Date(Math.floor(Date.now() / 1000) * 1000 + 7_200_000).toISOString();
  await server.done(`request grant ${id} --size 2M --until ${until} --words`, 'for now');
  const usage = ownerReport.parse(await server.json('usage carol'));
  t.match(usage, { limit: 3_000_000, allowance: { bytes: 2_000_000, count: 1, until } });
  t.match(
    await server.done('usage carol'),
    /limit: 3 MB; ok\.\n2 MB of the limit are an allowance until \d{4}-.*: the release needs it\n/,
  );
});

t.test('allowances are given, listed and ended without a request', async t => {
  await server.done('user create dave');
  t.equal(await server.done('allowance list dave'), 'dave has no allowance.\n');
  const create = ['allowance create dave --size 1.5GiB --for 30d --why', 'a migration'] as const;
  const endless = await server.softquota('allowance create dave --size 1.5GiB --why x');
  t.match(endless, { code: 2, stderr: /give --for or --until/ });
  const created = allowance.parse(await server.json(...create));
  t.match(created, { bytes: 1.5 * 1024 ** 3, why: 'a migration', granted_by: null });
  const lasts = Date.parse(created.until) - Date.parse(created.granted_at);
  t.ok(lasts > 29.9 * 86_400_000 && lasts <= 30 * 86_400_000);
  t.match(
    await server.done('allowance list dave'),
    new RegExp(`${created.id} +1\\.5 GiB .* host administrator .* a migration\n`),
  );
  t.match(await server.done('check dave --subject size:all'), /of this limit are an allowance/);
  const end = `allowance end dave ${created.id}`;
  t.equal(await server.done(end), `Ended the allowance ${created.id} of dave.\n`);
  t.match(await server.softquota(end), { code: 1, stderr: /no allowance/ });
  t.match(await server.softquota('allowance list nobody'), {
    code: 1,
    stderr: /no user or organization/,
  });
});
