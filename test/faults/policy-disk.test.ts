/**
 * A full disk under DATA_PATH, while administrators change what is ruled: what is refused changes nothing.
 */

import { join } from 'node:path';
import t from 'tap';
import { until } from '../e2e/ask.ts';
import { Server } from '../e2e/server.ts';
import { Realm } from './realm.ts';
import { fill, mountSmallData } from './small-disk.ts';

/** Number of changes that fit on the small disk. */
const changes = 30;
t.setTimeout(120_000);

t.test(
  'while the disk is full no change is answered that is not kept, and what is refused changes nothing',
  async t => {
    const server = await Server.open(t, { started: false });
    const data = join(server.folder, 'data');
    await mountSmallData(t, data, '8m');
    await server.start();
    const realm = await Realm.begin(server, 'realm');
    for (let n = 0; n < changes; n++) t.ok(Number(await realm.change()) < 300);
    const body = { username: 'alice' };
    t.equal((await server.ask('admin', '/api/v1/admin/users', { body })).status, 201);
    const limited = { name: 'small', rules: [{ name: 'small', limit: 1000, subjects: ['size:all'] }] };
    t.equal((await server.ask('admin', '/api/v1/admin/quota/groups', { body: limited })).status, 201);
    const assignment = '/api/v1/admin/quota/groups/small/users/alice';
    t.equal((await server.ask('admin', assignment, { method: 'PUT' })).status, 204);
    const tokens = '/api/v1/users/alice/tokens';
    const made = await server.ask('admin', tokens, { body: { name: 'first', scopes: ['all'] } });
    t.equal(made.status, 201);
    const check = async () =>
      (await server.ask('gate', '/v1/check?owner=alice&subject=size:git:lfs', { accept: 'text/plain' }))
        .status;
    t.equal(await check(), 200);

    const makeRoom = fill(data);
    // SQLite may have some room set aside; what fits into it is done, and kept.
    const refused = await until(async () => ((await realm.change()) === 503 ? true : null));
    t.ok(refused);
    const nothing = { method: 'PATCH', body: { limit: 0 } };
    const edited = await until(async () => {
      const answer = await server.ask('admin', '/api/v1/admin/quota/rules/small', nothing);
      return answer.status === 503 ? answer : null;
    });
    t.match(JSON.parse(edited.text), { message: /disk is full/, url: /\/api\/swagger$/ });
    const { http } = await server.daemon.logged(/^softquota answers/);
    const own = await until(async () => {
      const answer = await fetch(new URL(tokens, String(http)), {
        method: 'POST',
        headers: { Authorization: `token ${JSON.parse(made.text).sha1}`, 'Content-Type': 'application/json' },
        body: JSON.stringify({ name: crypto.randomUUID(), scopes: ['all'] }),
      });
      return answer.status === 503 ? answer : null;
    });
    t.match(
      await own.json(),
      { message: 'the store cannot be written at the moment: try again soon' },
      'a user is not told where the store lies',
    );
    for (let n = 0; n < 20; n++) {
      const status = Number(await realm.change());
      t.ok(status === 503 || status < 300, `${status}`);
      const { isRight, seen } = await realm.settle();
      if (!isRight) t.strictSame(seen, realm.right, 'nothing of a refused change is seen');
    }
    t.match(await server.reasons(), /the store has not been writable since .*disk is full/);

    await server.stop('SIGKILL');
    await server.start({ ready: false });
    const { isRight } = await realm.settle();
    t.ok(isRight, 'nor after a restart on the full disk');

    makeRoom();
    await server.ready();
    for (let n = 0; n < changes; n++) t.ok(Number(await realm.change()) < 300, 'with room it goes on');
    t.ok((await realm.settle()).isRight);
    t.equal((await server.ask('admin', '/api/v1/admin/quota/rules/small', nothing)).status, 200);
    t.equal(await check(), 413);
  },
);
