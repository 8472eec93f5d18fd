/**
 * A daemon that was killed, and hooks that go by what it last published: owners known to be over the limit
 * are refused, others pass.
 */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { until } from './ask.ts';
import { Clone } from './clone.ts';
import { Server } from './server.ts';

t.test('killed without warning, what it knew last still holds', async t => {
  const server = await Server.open(t, {
    ini: { 'quota.default': { TOTAL: '150k' } },
    started: false,
  });
  const repositories = ['alice/app', 'alice/site', 'bob/app', 'carol/app'];
  const bare = new Map<string, string>();
  for (const name of repositories) bare.set(name, await server.repository(name));
  await server.installHooks();
  await server.start();
  const clones = new Map<string, Clone>();
  for (const [name, path] of bare) clones.set(name, await Clone.of(server, path));
  const clone = (name: string) => {
    const found = clones.get(name);
    if (found === undefined) throw new Error(`no clone of ${name}`);
    return found;
  };
  const pushed = async (name: string, bytes: number) => {
    await clone(name).commit(bytes);
    return clone(name).push();
  };

  t.match(await pushed('alice/app', 200_000), { code: 0 });
  t.match(await clone('alice/app').push(['main:refs/heads/old']), { code: 0 }, 'it brings nothing');
  t.match(await pushed('bob/app', 1_000), { code: 0 });
  await server.usageIs('alice', bytes => bytes > 150_000);
  const published = join(server.folder, 'data', 'gate.refused');
  const isListed = async () =>
    (await readFile(published, 'utf8')).includes(`${bare.get('alice/app')}\t`) ? true : null;
  await until(isListed);
  await server.stop('SIGKILL');

  const away = 'softquota: the quota could not be checked';
  const refused = await pushed('alice/app', 100);
  t.equal(refused.code, 1);
  t.match(
    refused.said,
    /^softquota: the quota could not be checked\. Last known: Quota exceeded: alice uses [23]\d\d(\.\d)? kB of 150 kB/,
  );
  t.match(await pushed('alice/site', 100), { code: 1 }, 'also where nothing was pushed yet');
  for (const name of ['bob/app', 'carol/app']) {
    const passed = await pushed(name, 100);
    t.match(passed, { code: 0, said: `${away}, so this push is allowed.` });
  }
  t.match(await clone('alice/app').push([':old']), { code: 0, said: '' }, 'a deletion is no question');
});
