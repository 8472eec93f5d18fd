/** What a push does to a repository whose owner may, or may not, store more. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { allowed, refused, warned } from './gate.ts';
import { World } from './world.ts';

const refusal = 'Quota exceeded: alice uses 12.4 GB of 10 GB (124 %).\nDeleting still works.\n';

/** A world whose repository holds a first commit on main, and whose gate has been asked nothing since. */
async function seeded(t: Test, options: Parameters<typeof World.open>[1] = {}): Promise<World> {
  const world = await World.open(t, options);
  await world.commit('first');
  await world.push(['HEAD:main']);
  await world.gate.heard(1);
  world.gate.questions.length = 0;
  return world;
}

t.test('an allowed push passes without a word, and the gate hears of it before and after', async t => {
  const world = await World.open(t);
  await world.commit('first');
  const push = await world.push(['HEAD:main'], { LOGNAME: 'alice' });
  t.equal(push.code, 0);
  t.equal(World.said(push), '');
  t.equal(await world.server('rev-parse', 'main'), await world.git('rev-parse', 'HEAD'));
  const [check] = world.gate.checks;
  t.match(check, { method: 'GET', accept: 'text/plain' });
  t.same(
    [...(check?.parameters ?? [])],
    [
      ['path', world.bare],
      ['actor', 'alice'],
    ],
  );
  await world.gate.heard(1);
  const [change] = world.gate.changes;
  t.match(change, { method: 'POST' });
  t.same([...(change?.parameters ?? [])], [['path', world.bare]]);
});

t.test('above a threshold the push passes and its maker reads the warning', async t => {
  const world = await World.open(t);
  world.gate.answer = warned('alice uses 9.1 GB of 10 GB (91 %). Übrigens: € 😀\n');
  await world.commit('first');
  const push = await world.push(['HEAD:main']);
  t.equal(push.code, 0);
  t.equal(World.said(push), 'alice uses 9.1 GB of 10 GB (91 %). Übrigens: € 😀');
});

for (const format of ['sha1', 'sha256'] as const) {
  for (const unpackLimit of ['100', '1']) {
    t.test(`of a refused push nothing stays (${format}, receive.unpackLimit ${unpackLimit})`, async t => {
      const world = await seeded(t, { format });
      await world.configure('receive.unpackLimit', unpackLimit);
      world.gate.answer = refused(refusal);
      const before = { objects: await world.objects(), refs: await world.refs() };
      await world.commit('second');
      const push = await world.push(['HEAD:main', 'HEAD:new']);
      t.equal(push.code, 1);
      t.equal(World.said(push), refusal.trim());
      t.match(push.stderr, /\[remote rejected\] HEAD -> main \(pre-receive hook declined\)/);
      t.same({ objects: await world.objects(), refs: await world.refs() }, before);
      t.equal(world.gate.changes.length, 0);
    });

    t.test(`who is over the limit may still delete (${format}, unpackLimit ${unpackLimit})`, async t => {
      const world = await seeded(t, { format });
      await world.push(['HEAD:old', 'HEAD:older']);
      await world.configure('transfer.unpackLimit', unpackLimit);
      world.gate.answer = refused(refusal);
      await world.gate.heard(2);
      world.gate.questions.length = 0;
      t.equal((await world.push([':old', ':older'])).code, 0);
      t.match(await world.refs(), /^refs\/heads\/main \S+$/);
      await world.gate.heard(3);
      t.equal(world.gate.checks.length, 0);
      t.equal(world.gate.changes.length, 1);
    });
  }

  for (const unpackLimit of ['100', '0', '1']) {
    t.test(`refs to what is there pass unasked (${format}, unpackLimit ${unpackLimit})`, async t => {
      const world = await seeded(t, { format });
      await world.configure('receive.unpackLimit', unpackLimit);
      world.gate.answer = refused(refusal);
      const push = await world.push(['HEAD:same', 'HEAD:refs/tags/v1', 'HEAD:refs/notes/x']);
      t.equal(push.code, 0, push.stderr);
      t.equal(world.gate.checks.length, 0);
    });
  }
}

t.test('a hundred new refs without an object pass unasked, a hundred and one are asked for', async t => {
  const world = await seeded(t);
  world.gate.answer = refused(refusal);
  const refs = Array.from({ length: 101 }, (_, index) => `HEAD:refs/n/${index}`);
  t.equal((await world.push(refs)).code, 1);
  t.equal(world.gate.checks.length, 1);
  t.match(await world.refs(), /^refs\/heads\/main \S+$/);
  t.equal((await world.push(refs.slice(1))).code, 0);
  t.equal(world.gate.checks.length, 1);
  const none = refs.slice(1).map(ref => ref.slice('HEAD'.length));
  t.equal((await world.push(none)).code, 0, 'deleting them all needs no leave');
  t.equal(world.gate.checks.length, 1);
});

t.test('2,000 refs with objects are one question', async t => {
  const world = await seeded(t);
  const base = await world.git('rev-parse', 'HEAD');
  await world.commit('second');
  const tip = await world.git('rev-parse', 'HEAD');
  const lines = Array.from(
    { length: 2000 },
    (_, index) => `create refs/heads/b${index} ${index % 2 ? base : tip}\n`,
  );
  await world.must('git', ['update-ref', '--stdin'], { cwd: world.work, input: lines.join('') });
  world.gate.answer = refused(refusal);
  const before = await world.objects();
  t.equal((await world.push(['refs/heads/b*:refs/heads/b*'])).code, 1);
  t.equal(await world.objects(), before);
  t.equal(world.gate.checks.length, 1);
  world.gate.answer = allowed;
  t.equal((await world.push(['refs/heads/b*:refs/heads/b*'])).code, 0);
  t.equal((await world.refs()).split('\n').length, 2001);
});

t.test(
  'tags, notes and a push that deletes and brings at once are asked for when they bring objects',
  async t => {
    const world = await seeded(t);
    await world.push(['HEAD:old']);
    world.gate.answer = refused(refusal);
    await world.git('tag', '-a', 'v1', '-m', 'first');
    await world.git('notes', 'add', '-m', 'a note');
    const before = { objects: await world.objects(), refs: await world.refs() };
    t.equal((await world.push(['refs/tags/v1'])).code, 1);
    t.equal((await world.push(['refs/notes/commits'])).code, 1);
    await world.commit('second');
    t.equal((await world.push([':old', 'HEAD:main'])).code, 1);
    t.same({ objects: await world.objects(), refs: await world.refs() }, before);
    t.equal(world.gate.checks.length, 3);
    world.gate.answer = allowed;
    t.equal((await world.push(['--atomic', ':old', 'HEAD:main', 'refs/tags/v1', 'refs/notes/*'])).code, 0);
  },
);

t.test('--dry-run asks nobody, since nothing is sent', async t => {
  const world = await seeded(t);
  await world.commit('second');
  t.equal((await world.push(['--dry-run', 'HEAD:main'])).code, 0);
  t.equal(world.gate.questions.length, 0);
});

t.test('--atomic and push options change nothing about a refusal', async t => {
  const world = await seeded(t);
  await world.configure('receive.advertisePushOptions', 'true');
  world.gate.answer = refused(refusal);
  await world.commit('second');
  const push = await world.push(['--atomic', '-o', 'softquota.skip', '-o', 'ci.skip', 'HEAD:main', 'HEAD:b']);
  t.equal(push.code, 1);
  t.equal(World.said(push), refusal.trim());
});

t.test('what a push finds in an alternate object store is nothing that it brings', async t => {
  const world = await seeded(t);
  const other = join(world.folder, 'other.git');
  await world.commit('second');
  await world.must('git', ['clone', '-q', '--bare', world.work, other]);
  await writeFile(join(world.bare, 'objects/info/alternates'), `${other}/objects\n`);
  world.gate.answer = refused(refusal);
  t.equal((await world.push(['HEAD:main'])).code, 0);
  t.equal(world.gate.checks.length, 0);
});

t.test(
  'over http the gate is asked with the physical path, for the user whom the web server names',
  async t => {
    const world = await seeded(t);
    world.gate.answer = refused(refusal);
    await world.configure('http.receivepack', 'true');
    const old = await world.git('rev-parse', 'HEAD');
    await world.commit('second');
    const tip = await world.git('rev-parse', 'HEAD');
    const line = `${old} ${tip} refs/heads/main\0 report-status side-band-64k`;
    const head = `${(line.length + 4).toString(16).padStart(4, '0')}${line}0000`;
    const pack = await world.run('git', ['pack-objects', '--stdout', '--revs', '-q'], {
      cwd: world.work,
      input: `${tip}\n^${old}\n`,
      encoding: 'latin1',
    });
    const body = Buffer.concat([Buffer.from(head), Buffer.from(pack.stdout, 'latin1')]);
    const before = { objects: await world.objects(), refs: await world.refs() };
    const answer = await world.run('git', ['http-backend'], {
      env: {
        GIT_PROJECT_ROOT: world.folder,
        GIT_HTTP_EXPORT_ALL: '1',
        PATH_INFO: '/alice/app.git/git-receive-pack',
        REQUEST_METHOD: 'POST',
        CONTENT_TYPE: 'application/x-git-receive-pack-request',
        CONTENT_LENGTH: String(body.length),
        GATEWAY_INTERFACE: 'CGI/1.1',
        REMOTE_USER: 'bob',
      },
      input: body,
    });
    t.match(answer.stdout, /Quota exceeded: alice/);
    t.match(answer.stdout, /ng refs\/heads\/main pre-receive hook declined/);
    t.equal(world.gate.checks[0]?.parameters.get('actor'), 'bob');
    t.equal(world.gate.checks[0]?.parameters.get('path'), world.bare);
    t.same({ objects: await world.objects(), refs: await world.refs() }, before);
  },
);
