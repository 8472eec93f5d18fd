/** Reservations of room for uploads. */

import t from 'tap';
import { SoftquotaError } from '../../src/errors.ts';
import { SetClock } from '../ledger/world.ts';
import { type Answer, form, json, openWorld, type World } from './world.ts';

const path = '/srv/git/alice/app.git';

function reserve(world: Pick<World, 'ask'>, fields: Record<string, string>): Promise<Answer> {
  return world.ask('/v1/reservations', form(fields));
}

const ofAlice = { owner: 'alice', subject: 'size:git:lfs' };

function read(answer: Answer): Record<string, unknown> {
  return JSON.parse(answer.text);
}

t.test('what is reserved counts as used until it is released', async t => {
  const world = await openWorld(t, { precise: true, totalBytes: 10_000 });
  world.walk(path, 'alice', 4000);
  const taken = await reserve(world, { ...ofAlice, size: '5000' });
  t.equal(taken.status, 201);
  t.equal(taken.headers['x-softquota-decision'], 'allowed');
  const { id, expires_at: expiresAt } = read(taken);
  const inMs = Date.parse(String(expiresAt)) - Date.now();
  t.ok(inMs > 590_000 && inMs <= 600_000, 'for ten minutes unless given');
  t.match(await world.ask(`/v1/check?path=${path}&size=1000`), { status: 200 });
  const refused = await world.ask(`/v1/check?path=${path}&size=1001`);
  t.equal(refused.status, 413);
  t.match(read(refused), {
    used: 9000,
    reserved: 5000,
    incoming: 1001,
    message:
      'Not enough quota left: alice uses 9 kB of 10 kB (90 %), 5 kB of that reserved, and this push brings 1 kB.',
  });
  t.match(await reserve(world, { ...ofAlice, size: '1001' }), {
    status: 413,
    headers: { 'x-softquota-decision': 'refused' },
    text: /this upload brings 1 kB/,
  });
  t.match(world.told.refused, [{ subject: 'size:repos:private' }, { subject: 'size:git:lfs' }]);
  t.match(await world.ask(`/v1/reservations/${id}`, { method: 'DELETE' }), { status: 204, text: '' });
  t.match(await world.ask(`/v1/check?path=${path}&size=6000`), { status: 200 });
  const gone = await world.ask(`/v1/reservations/${id}`, { method: 'DELETE' });
  t.match(read(gone), { code: 'unknown_reservation' });
  t.equal(gone.status, 404);
});

t.test('a reservation ends with its time, and can be renewed before', async t => {
  const clock = new SetClock();
  const world = await openWorld(t, { precise: true, totalBytes: 10_000 }, {}, clock);
  const taken = await world.ask('/v1/reservations', json({ ...ofAlice, size: 6000, seconds: 60 }));
  const { id, expires_at: expiresAt } = read(taken);
  t.equal(expiresAt, '2026-11-21T09:01:00.000Z');
  const check = async () => (await world.ask('/v1/check?owner=alice&subject=size:git:lfs&size=6000')).status;
  clock.pass(50_000);
  t.equal(await check(), 413);
  const renewed = await world.ask(`/v1/reservations/${id}?seconds=30`, { method: 'PUT' });
  t.equal(renewed.status, 200);
  t.match(read(renewed), { id, expires_at: '2026-11-21T09:01:20.000Z' });
  clock.pass(29_999);
  t.equal(await check(), 413);
  clock.pass(1);
  t.equal(await check(), 200);
  t.match(await world.ask(`/v1/reservations/${id}`, { method: 'PUT' }), { status: 404 });
});

t.test('a report of what came ends the reservation, and counts also where its time has ended', async t => {
  const world = await openWorld(t, { precise: true, totalBytes: 10_000 });
  world.walk(path, 'alice', 1000);
  const used = async () => read(await world.ask('/v1/check?owner=alice&subject=size:git:lfs'));
  const first = read(await reserve(world, { ...ofAlice, size: '3000' }));
  t.match(await used(), { used: 4000, reserved: 3000 });
  const delta = { ...ofAlice, delta: '2500', reservation: String(first.id) };
  t.equal((await world.askTrusted('/v1/changed', form(delta))).status, 202);
  t.match(await used(), { used: 3500, reserved: undefined });
  t.equal((await world.askTrusted('/v1/changed', form({ ...delta, delta: '1' }))).status, 202);
  t.match(await used(), { used: 3501 });

  const second = read(await reserve(world, { path, size: '2000' }));
  t.equal((await world.ask('/v1/changed', form({ reservation: String(second.id) }))).status, 202);
  t.strictSame(world.told.measured, [path], 'the unit for which it was reserved is measured');
  t.match(await used(), { reserved: 2000 }, 'and until then it counts');
  world.walk(path, 'alice', 3000);
  t.match(await used(), { used: 5501, reserved: undefined });
});

t.test('a walk that began before the bytes were in place ends no reservation', async t => {
  const world = await openWorld(t, { precise: true, totalBytes: 10_000 });
  world.walk(path, 'alice', 1000);
  const { id } = read(await reserve(world, { path, size: '2000' }));
  const reserved = async () => read(await world.ask(`/v1/check?path=${path}`)).reserved;
  t.equal(await reserved(), 2000);
  world.walk(path, 'alice', 1000);
  t.equal(await reserved(), 2000, 'the upload is not over yet');
  t.equal((await world.ask('/v1/changed', form({ path }))).status, 202);
  world.walk(path, 'alice', 1000);
  t.equal(await reserved(), 2000, 'another upload is over');
  const early = world.ledger.walks.nextSeq();
  t.equal((await world.ask('/v1/changed', form({ path, reservation: String(id) }))).status, 202);
  world.walk(path, 'alice', 1000, { seq: early });
  t.equal(await reserved(), 2000, 'this walk began earlier');
  world.walk(path, 'alice', 3000);
  t.equal(await reserved(), undefined);
});

t.test('fifty uploads at once have no more room together than there is', async t => {
  const world = await openWorld(t, { precise: true, totalBytes: 10_000 });
  world.walk(path, 'alice', 0);
  const answers = await Promise.all(Array.from({ length: 50 }, () => reserve(world, { path, size: '1000' })));
  t.equal(answers.filter(({ status }) => status === 201).length, 10);
  t.equal(answers.filter(({ status }) => status === 413).length, 40);
});

t.test('a check reserves nothing, also if a hook of release 0.1 names its push', async t => {
  const world = await openWorld(t, { precise: true, totalBytes: 10_000 });
  world.walk(path, 'alice', 0);
  for (const query of ['&size=5000', '&size=5000&push=a']) {
    t.match(read(await world.ask(`/v1/check?path=${path}${query}`)), { allowed: true, used: 0 });
    t.match(read(await world.ask(`/v1/check?path=${path}`)), { used: 0, reserved: undefined });
  }
});

t.test('without PRECISE a reservation is decided as a check, and its bytes count as used', async t => {
  const world = await openWorld(t, { totalBytes: 10_000 });
  world.walk(path, 'alice', 9000);
  t.equal((await reserve(world, { ...ofAlice, size: '5000' })).status, 201);
  t.match(await reserve(world, { ...ofAlice, size: '1' }), {
    status: 413,
    text: /alice uses 14 kB of 10 kB/,
  });
  t.equal((await world.ask(`/v1/check?path=${path}`)).status, 413);
});

t.test('in report mode everything is reserved', async t => {
  const world = await openWorld(t, { precise: true, mode: 'report', totalBytes: 10 });
  t.equal((await reserve(world, { ...ofAlice, size: '5000' })).status, 201);
  t.match(world.told.refused, [{ mode: 'report' }]);
});

t.test('faults are told, and reserve nothing', async t => {
  const world = await openWorld(t, { precise: true });
  const told = async (fields: Record<string, string>) => read(await reserve(world, fields)).message;
  t.match(await told(ofAlice), /size is missing/);
  t.match(await told({ ...ofAlice, size: '-1' }), /size is "-1"/);
  t.match(await told({ owner: 'alice', size: '1' }), /subject is missing/);
  t.match(await told({ subject: 'size:all', size: '1' }), /owner is missing/);
  t.match(await told({ ...ofAlice, size: '1', seconds: '3601' }), /seconds is "3601"/);
  t.match(await told({ path: '/else', size: '1' }), /is under no storage template/);
  world.told.locate = async () => {
    throw new SoftquotaError('not_ready', 'the disk does not answer');
  };
  t.equal((await reserve(world, { path: '/else', size: '1' })).status, 503);
  t.match(await world.ask('/v1/reservations'), { status: 405, headers: { allow: 'POST' } });
  t.match(await world.ask('/v1/reservations/x'), { status: 405, headers: { allow: 'DELETE, PUT' } });
  t.match(await world.ask('/v1/reservations/%1B[1m', { method: 'DELETE' }), { status: 404 });
  t.equal(world.ledger.reservations.ofOwner('alice').size, 0);
  const id = (await world.ask('/v1/reservations', { ...form({ ...ofAlice, size: '0' }), ...asForm })).text;
  t.match(id, /^[\w-]{24}\n$/, 'as text it is the id alone');
});

const asForm = {
  headers: { Accept: 'text/plain', 'Content-Type': 'application/x-www-form-urlencoded' },
} as const;
