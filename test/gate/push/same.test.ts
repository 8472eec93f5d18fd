/** Repeated questions get the first answer; pushes at once see each other. */

import t from 'tap';
import {
  bodyOf,
  creates,
  deletes,
  incoming,
  MB,
  openPushWorld,
  type Question,
  unit,
  usualFields,
} from './world.ts';

t.test('the same question gets the same answer, and counts once', async t => {
  const { push, brings, told, walk, ledger } = await openPushWorld(t);
  brings(3 * MB);
  t.match(await push(), { status: 200 });
  t.match(await push(), { status: 200 }, 'although the owner is over the limit by now');
  t.equal(told.pushes.length, 1);
  t.equal(ledger.units.unit(unit)?.bytes, 11 * MB);
  walk(unit, 'bob', MB);
  told.pushes.length = 0;
  brings(1, { name: 'incoming-bbbbbb' });
  walk(unit, 'bob', 11 * MB);
  const fields = { GIT_QUARANTINE_PATH: 'incoming-bbbbbb' };
  t.match(await push({ fields }), { status: 413 });
  t.match(await push({ fields }), { status: 413 });
  t.equal(told.refused.length, 1, 'and is on record once');
});

t.test('another one is decided anew, in place of the earlier one', async t => {
  const { push, brings, told, withdrawn, ledger } = await openPushWorld(t);
  brings(1000);
  await push();
  const isAnew = async (what: string, question: Question = {}) => {
    withdrawn.length = 0;
    await push(question);
    t.same(withdrawn, [`${unit} ${incoming}`], what);
    t.equal(told.pushes.length, 1, what);
  };
  await isAnew('other fields', { fields: { process: '2' } });
  await isAnew('other lines', { lines: creates('refs/heads/b') });
  brings(2000);
  await isAnew('more bytes', { lines: creates('refs/heads/b') });
  brings(2000, { id: '1 2 4' });
  await isAnew('another quarantine of that name', { lines: creates('refs/heads/b') });
  t.equal(ledger.units.unit(unit)?.bytes, 8 * MB + 2000);
});

t.test('a small push gives no go-on to a large one behind it', async t => {
  const { push, brings } = await openPushWorld(t, { precise: true });
  brings(1000);
  t.equal((await push()).status, 200);
  brings(10 * MB);
  t.equal((await push()).status, 413);
});

t.test('a push that was let through counts on, whatever is asked about it later', async t => {
  const { push, brings, walk, told, ledger } = await openPushWorld(t);
  brings(MB);
  t.equal((await push()).status, 200);
  walk('/srv/git/bob/b.git', 'bob', 9 * MB);
  t.equal((await push({ fields: { process: '2' } })).status, 413, 'by another request');
  t.equal(told.pushes.length, 1);
  t.equal(ledger.units.unit(unit)?.bytes, 9 * MB);
});

t.test('a push whose quarantine is gone does not, when the next one gets its name', async t => {
  const { push, brings, walk, told, ledger } = await openPushWorld(t);
  brings(MB);
  t.equal((await push()).status, 200);
  walk('/srv/git/bob/b.git', 'bob', 9 * MB);
  brings(MB, { id: '1 2 4' });
  t.equal((await push()).status, 413);
  t.same(told.pushes, []);
  t.equal(ledger.units.unit(unit)?.bytes, 8 * MB);
});

t.test('without a quarantine the fields tell, since the hook is one process', async t => {
  const { push, walk, told } = await openPushWorld(t);
  const fields = { GIT_QUARANTINE_PATH: '' };
  t.equal((await push({ fields })).status, 200);
  walk(unit, 'bob', 11 * MB);
  t.equal((await push({ fields })).status, 200);
  t.equal((await push({ fields: { ...fields, process: '2' } })).status, 413);
  t.equal(told.measured.length, 1);
});

t.test('after two minutes it is a new question', async t => {
  const { push, walk, timing } = await openPushWorld(t);
  t.equal((await push()).status, 200);
  walk(unit, 'bob', 11 * MB);
  timing.pass(119_000);
  t.equal((await push()).status, 200);
  timing.pass(2000);
  t.equal((await push()).status, 413);
});

t.test('of fifty pushes at once those pass for which there is room', async t => {
  const { push, brings, told, ledger, services } = await openPushWorld(t);
  const { promise: all, resolve } = Promise.withResolvers<void>();
  let looks = 0;
  const look = services.look;
  Object.assign(services, {
    look: async (path: string, name: string, deadlineMs: number) => {
      if (++looks === 50) resolve();
      await all;
      return look?.(path, name, deadlineMs);
    },
  });
  const asked = Array.from({ length: 50 }, (_, at) => {
    const name = `tmp_objdir-incoming-aaaa${String(at).padStart(2, '0')}`;
    brings(MB, { name, id: `1 ${at} 3` });
    return push({ fields: { GIT_QUARANTINE_PATH: name, process: String(at) } });
  });
  const statuses = (await Promise.all(asked)).map(({ status }) => status);
  t.equal(looks, 50);
  t.equal(
    statuses.filter(status => status === 200).length,
    3,
    'the third one ends over the limit: it is soft',
  );
  t.equal(statuses.filter(status => status === 413).length, 47);
  t.equal(told.pushes.length, 3);
  t.equal(ledger.units.unit(unit)?.bytes, 11 * MB);
});

t.test('a question that comes twice at once is decided once', async t => {
  const { push, told, ledger, brings } = await openPushWorld(t);
  brings(MB);
  const statuses = await Promise.all([push(), push(), push()]);
  t.same(
    statuses.map(({ status }) => status),
    [200, 200, 200],
  );
  t.equal(told.pushes.length, 1);
  t.equal(ledger.units.unit(unit)?.bytes, 9 * MB);
});

t.test('what is remembered is bounded, and pushes count on that are forgotten', async t => {
  const { ask, brings, told, withdrawn } = await openPushWorld(t);
  brings(1000);
  const body = (process: string, fields = {}) =>
    bodyOf({ ...usualFields, ...fields, process }, creates('refs/heads/main'));
  await ask('/v1/push', { method: 'POST', body: body('first') });
  for (let at = 0; at < 100; at++) {
    await ask('/v1/push', { method: 'POST', body: body(String(at), { GIT_QUARANTINE_PATH: '' }) });
  }
  await ask('/v1/push', { method: 'POST', body: body('again') });
  t.same(withdrawn, [], 'nobody takes back a push by asking about others');
  t.equal(told.pushes.length, 2, 'its book replaces it by its name');
});

t.test('a deletion is not remembered', async t => {
  const { push, told } = await openPushWorld(t);
  t.equal((await push({ lines: deletes('refs/heads/a') })).status, 200);
  t.equal((await push()).status, 200);
  t.equal(told.pushes.length, 1);
});
