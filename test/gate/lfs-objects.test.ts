/** `/v1/check` about LFS objects, as hooks/receive-pack/git-lfs-transfer asks. */

import t from 'tap';
import { grouped } from '../quota/grouped.ts';
import { asText, openWorld, type World } from './world.ts';

const path = '/srv/git/alice/app.git';

async function asked({ ask }: Pick<World, 'ask'>, objects: string) {
  const query = new URLSearchParams({ path, subject: 'size:git:lfs', actor: 'git', objects });
  return ask(`/v1/check?${query}`, asText);
}

t.test('before a batch it is said whether batches are asked about, and nothing is on record', async t => {
  const world = await openWorld(t, { totalBytes: 1000 });
  world.walk(path, 'alice', 500);
  t.match(await asked(world, ''), { status: 200, text: '' });
  world.walk(path, 'alice', 1500);
  t.match(await asked(world, ''), { status: 202, text: '' });
  t.strictSame(world.told.refused, []);
  t.equal((await asked(world, 'abc 5\n')).status, 413);
  t.match(world.told.refused, [{ owner: 'alice', subject: 'size:git:lfs', actor: 'git' }]);
});

t.test('the words are about an upload, not about a push', async t => {
  const world = await openWorld(t, { totalBytes: 1000 });
  world.walk(path, 'alice', 1500);
  const { text } = await asked(world, 'abc 5\n');
  t.match(
    text,
    /^Quota exceeded: alice uses 1\.5 kB of 1 kB \(150 %\)\.\nNothing from this upload was stored/,
  );
});

t.test('with PRECISE the objects of batches take the room that is left, each once', async t => {
  const world = await openWorld(t, { totalBytes: 1000, precise: true });
  world.walk(path, 'alice', 500);
  t.equal((await asked(world, '')).status, 202);
  t.equal((await asked(world, 'aa 200\nbb 200\n')).status, 200);
  t.equal((await asked(world, 'aa 200\n')).status, 200);
  t.equal((await asked(world, 'cc 200\n')).status, 413);
});

t.test('a limit of files is asked about the largest object', async t => {
  const world = await openWorld(t);
  world.walk(path, 'alice', 500);
  const large = { name: 'large', limitBytes: 100, subjects: ['size:git:lfs'], per: 'file' } as const;
  await grouped(world.ledger, ['alice'], [large]);
  t.equal((await asked(world, '')).status, 202);
  t.equal((await asked(world, 'aa 60\nbb 60\n')).status, 200);
  t.match(await asked(world, 'aa 60\nbb 160\n'), {
    status: 413,
    text: /^The file with the object id bb has 160 B/,
  });
});

t.test('a line that is no object is a fault of whoever asks', async t => {
  const world = await openWorld(t);
  world.walk(path, 'alice', 500);
  for (const line of ['abc', 'abc x', 'ABC 5', 'abc -5', `${'a'.repeat(129)} 5`, 'abc 5 6'])
    t.match(await asked(world, line), { status: 400, text: /objects has/ }, line);
});

t.test('10,000 objects of a batch are one question, and no other body is as long', async t => {
  const { walk, ask } = await openWorld(t, { precise: true });
  walk(path, 'alice', 500);
  const lines = (count: number) =>
    Array.from({ length: count }, (_, at) => `${String(at).padStart(64, '0')}+5%0A`).join('');
  const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
  const status = async (body: string, headers: Readonly<Record<string, string>> = form) =>
    (await ask('/v1/check', { method: 'POST', headers, body })).status;
  const asked = `path=${path}&subject=size:git:lfs&objects=`;
  t.equal(await status(asked + lines(10_000)), 200);
  t.equal(await status(asked + '0+5%0A'.repeat(16_001)), 400);
  t.equal(await status(`${asked}${lines(1)}&actor=${'a'.repeat(1024 * 1024)}`), 400);
  const json = JSON.stringify({ path, actor: 'a'.repeat(64 * 1024) });
  t.equal(await status(json, { 'Content-Type': 'application/json' }), 400);
});
