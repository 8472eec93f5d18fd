/** What the hooks decided without the daemon, kept on record and told to it at the next contact. */

import { readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { Client } from '../../src/git/index.ts';
import { until } from '../e2e/ask.ts';
import { allowed, plain, refused } from './gate.ts';
import { byEachClient, World } from './world.ts';

const record = 'softquota-offline';

async function withRecord(t: Test, client: Client = 'curl') {
  const world = await World.open(t, { client });
  const file = join(world.bare, record);
  await world.configure('softquota.timeout', '0.5');
  return {
    world,
    file,
    leave: () => world.configure('softquota.socket', join(world.folder, 'away.sock')),
    comeBack: () => world.configure('softquota.socket', world.gate.socket),
    read: () => readFile(file, 'utf8').catch(() => null),
    pushed: async (env: Readonly<Record<string, string>> = {}) => {
      await world.commit(`${Math.random()}`);
      return (await world.push(['HEAD:main'], env)).code;
    },
    leftovers: async () => (await readdir(world.bare)).filter(name => name.startsWith(record)),
  };
}

byEachClient(
  'each decision without the daemon is a line: when, what, why, and who pushed',
  async (t, client) => {
    const { world, leave, comeBack, read, pushed } = await withRecord(t, client);
    await leave();
    t.equal(await pushed({ LOGNAME: 'alice' }), 0);
    await comeBack();
    world.gate.answer = plain(503);
    await world.configure('softquota.onError', 'deny');
    t.equal(await pushed({ LOGNAME: 'bob\n' }), 1);
    await world.configure('softquota.onError', 'last');
    await writeFile(
      join(world.folder, 'gate.refused'),
      `softquota refused\t1\t${new Date().toISOString().slice(0, 19)}Z\tCASE=fold\npath\t${world.bare}\tover\n`,
    );
    t.equal(await pushed({ LOGNAME: 'carol' }), 1);
    const time = '\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ';
    t.match(
      await read(),
      new RegExp(
        `^${time}\tlet through\tthe daemon does not answer\talice\n${time}\trefused\tthe answer was 503\t\n${time}\trefused\tthe answer was 503\tcarol\n$`,
      ),
    );
  },
);

t.test('what the daemon decided is not on record, nor what needs no leave', async t => {
  const { world, pushed, leftovers } = await withRecord(t);
  t.equal(await pushed(), 0);
  t.equal((await world.push(['HEAD:old'])).code, 0);
  world.gate.answer = refused('no\n');
  t.equal(await pushed(), 1);
  world.gate.answer = plain(404);
  t.equal(await pushed(), 0);
  world.gate.answer = plain(503);
  t.equal((await world.push([':old'])).code, 0);
  t.same(await leftovers(), []);
});

for (const [answer, contact] of [
  [allowed, 'a push that passes'],
  [refused('no\n'), 'a push that is refused'],
] as const) {
  byEachClient(`the record is handed over behind ${contact}, once, and is gone then`, async (t, client) => {
    const { world, file, leave, comeBack, read, pushed, leftovers } = await withRecord(t, client);
    await leave();
    await pushed({ LOGNAME: 'alice' });
    await pushed({ LOGNAME: 'bob' });
    const lines = await until(read);
    await comeBack();
    world.gate.answer = answer;
    await pushed();
    t.same(await world.gate.told(1), lines.split('\n').slice(0, -1));
    const told = () => world.gate.questions.filter(({ path }) => path === '/v1/offline-decisions');
    t.match(told(), [{ method: 'POST' }]);
    t.equal(told()[0]?.parameters.get('path'), world.bare);
    await until(async () => ((await leftovers()).length === 0 ? 'gone' : null));
    await pushed();
    t.equal(told().length, 1);
    await t.rejects(stat(file));
  });
}

t.test('a deletion, for which nobody is asked, is a contact too', async t => {
  const { world, leave, comeBack, pushed } = await withRecord(t);
  await leave();
  await pushed({ LOGNAME: 'alice' });
  t.equal((await world.push(['HEAD:old'])).code, 0);
  await comeBack();
  t.equal((await world.push([':old'])).code, 0);
  t.match(await world.gate.told(1), [/\tlet through\tthe daemon does not answer\talice$/]);
  t.equal(world.gate.checks.length, 0);
});

t.test('what the daemon does not take is kept for the next time', async t => {
  const { world, read, pushed, leftovers } = await withRecord(t);
  await world.gate.close();
  await pushed({ LOGNAME: 'alice' });
  const lines = await until(read);
  const again = await World.open(t);
  again.gate.takes = 503;
  await world.configure('softquota.socket', again.gate.socket);
  await pushed();
  await again.gate.told(1);
  t.equal(await until(read), lines);
  await until(async () => ((await leftovers()).length === 1 ? 'settled' : null));
  again.gate.takes = 202;
  await pushed();
  t.equal((await again.gate.told(2)).length, 2);
  await until(async () => ((await leftovers()).length === 0 ? 'gone' : null));
});

t.test('the record does not grow beyond what the gate takes at once', async t => {
  const { file, leave, read, pushed } = await withRecord(t);
  const line = '2026-01-01T00:00:00Z\tlet through\tthe daemon does not answer\talice\n';
  await leave();
  for (const [lines, grows] of [
    [7680 / line.length, true],
    [8192 / line.length, false],
  ] as const) {
    const before = line.repeat(lines);
    await writeFile(file, before);
    await pushed();
    t.equal((await read())?.length !== before.length, grows);
  }
});

t.test('nothing is written through a link, and what cannot be written stops nobody', async t => {
  const { world, file, pushed } = await withRecord(t);
  const aim = join(world.folder, 'aim');
  await writeFile(aim, 'as it was');
  await symlink(aim, file);
  await world.configure('softquota.socket', '/nonexistent');
  t.equal(await pushed(), 0);
  t.equal(await readFile(aim, 'utf8'), 'as it was');
  await world.configure('softquota.socket', world.gate.socket);
  t.equal(await pushed(), 0);
  await world.gate.heard(1);
  t.equal(await readFile(aim, 'utf8'), 'as it was');
  t.ok((await stat(file)).isFile());
  await rm(file);
  await world.must('mkdir', [file]);
  await world.configure('softquota.socket', '/nonexistent');
  t.equal(await pushed(), 0);
});

t.test('in a repository that a group shares, the group may add to the record', async t => {
  const { world, file, pushed } = await withRecord(t);
  await world.configure('softquota.socket', '/nonexistent');
  await pushed();
  t.equal((await stat(file)).mode & 0o777, 0o644);
  await rm(file);
  await world.must('chmod', ['g+w', world.bare]);
  await pushed();
  t.equal((await stat(file)).mode & 0o777, 0o664);
});
