/** hooks/upload: the same question, for upload handlers. */

import { utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { HookSettings } from '../../src/git/index.ts';
import { type Answer, Gate, plain, refused, warned } from './gate.ts';
import { byEachClient, World } from './world.ts';

async function handler(t: Test, settings: Partial<HookSettings> = {}) {
  const world = await World.open(t, settings);
  const file = join(world.folder, 'upload');
  await world.put('upload', file);
  return { world, upload: (...args: readonly string[]) => world.run(file, args, { cwd: '/' }) };
}

byEachClient('an upload is asked for by owner, subject and size', async (t, client) => {
  const { world, upload } = await handler(t, { client });
  t.match(await upload('jürgen & co', 'size:git:lfs', '1000'), { code: 0, stdout: '', stderr: '' });
  t.match(await upload('@alice', 'size:assets:packages:all'), { code: 0, stdout: '', stderr: '' });
  t.same(
    world.gate.checks.map(check => [...check.parameters]),
    [
      [
        ['owner', 'jürgen & co'],
        ['subject', 'size:git:lfs'],
        ['size', '1000'],
      ],
      [
        ['owner', '@alice'],
        ['subject', 'size:assets:packages:all'],
      ],
    ],
  );
});

t.test('a refused upload ends with 1 and the reason, a warned one with 0 and the warning', async t => {
  const { world, upload } = await handler(t);
  world.gate.answer = refused('Quota exceeded: alice uses 2 MB of 1 MB.\n');
  const reason = 'Quota exceeded: alice uses 2 MB of 1 MB.\n';
  t.match(await upload('alice', 'size:git:lfs'), { code: 1, stdout: '', stderr: reason });
  world.gate.answer = warned('nearly full\n');
  t.match(await upload('alice', 'size:git:lfs'), { code: 0, stdout: '', stderr: 'nearly full\n' });
});

t.test('when nobody can tell, onError says what an upload may', async t => {
  const why = 'the answer was 400: subject is "size", where a leaf is expected';
  const asked = `softquota: the quota could not be checked (${why})`;
  for (const [onError, code, end] of [
    ['last', 0, ', so this upload is allowed.'],
    ['allow', 0, ', so this upload is allowed.'],
    ['deny', 1, ', so this upload is refused. Try again later.'],
  ] as const) {
    const { world, upload } = await handler(t, { onError });
    world.gate.answer = plain(400, 'subject is "size", where a leaf is expected\n');
    t.match(await upload('alice', 'size'), { code, stdout: '', stderr: `${asked}${end}\n` });
  }
  const { world, upload } = await handler(t);
  await world.gate.close();
  const list = world.gate.socket.replace(/\.sock$/, '.refused');
  const published = (kept: string) =>
    writeFile(
      list,
      `softquota refused\t1\t2026-11-21T09:14:03Z\tCASE=${kept}\nowner\talice\tsize:git:lfs\tno more\n`,
    );
  await published('keep');
  t.match(await upload('alice', 'size:git:lfs'), { code: 1, stderr: /Last known: no more\n$/ });
  t.match(await upload('Alice', 'size:git:lfs'), { code: 0, stderr: /so this upload is allowed/ });
  await published('fold');
  t.match(await upload('Alice', 'size:git:lfs'), { code: 1, stderr: /Last known: no more\n$/ });
  t.match(await upload('alice', 'size:assets:wiki'), { code: 0, stderr: /so this upload is allowed/ });
  const soon = new Date(Date.now() + 3600_000);
  await utimes(list, soon, soon);
  t.match(await upload('alice', 'size:git:lfs'), { code: 0, stderr: /so this upload is allowed/ });
});

t.test('what no PATH matches is let through without a word', async t => {
  const { world, upload } = await handler(t);
  world.gate.answer = plain(404, 'unknown');
  t.match(await upload('alice', 'size:git:lfs'), { code: 0, stdout: '', stderr: '' });
});

t.test('arguments that make no question end with 1 and what is expected', async t => {
  const { world, upload } = await handler(t);
  for (const args of [
    ['--done'],
    ['--done', 'relative/path'],
    ['--done', 'alice', 'size:git:lfs'],
    ['--done', 'alice', 'size:git:lfs', '1.5'],
    ['--done', 'alice', 'size:git:lfs', '-'],
    ['--done', '--socket', 'trusted.sock', 'alice', 'size:git:lfs', '1'],
    ['--done', 'alice', '/trusted.sock', 'alice', 'size:git:lfs', '1'],
    [],
    ['alice'],
    ['a', 'b', 'c'],
    ['a', 'b', '-1'],
    ['a', 'b', ''],
    ['a', 'b', '1', '2'],
  ]) {
    t.match(await upload(...args), {
      code: 1,
      stderr: /^softquota: expected: upload OWNER SUBJECT \[SIZE\]/,
    });
  }
  t.equal(world.gate.questions.length, 0);
});

/** A handler with a trusted socket beside the gate's, as the daemon has them. */
async function trustedHandler(t: Test, client: HookSettings['client'] = 'nc') {
  const { world, upload } = await handler(t, { client });
  const trusted = await Gate.open(join(world.folder, 'trusted.sock'));
  t.teardown(() => trusted.close());
  return { world, trusted, upload };
}

t.test('what came is reported to the trusted socket, and a path to the gate', async t => {
  const { world, trusted, upload } = await trustedHandler(t);
  t.match(await upload('--done', 'jürgen & co', 'size:git:lfs', '5'), { code: 0, stdout: '', stderr: '' });
  t.match(await upload('--done', 'alice', 'size:git:lfs', '-5'), { code: 0, stdout: '', stderr: '' });
  t.same(
    trusted.changes.map(({ method, parameters }) => [method, Object.fromEntries(parameters)]),
    [
      ['POST', { owner: 'jürgen & co', subject: 'size:git:lfs', delta: '5' }],
      ['POST', { owner: 'alice', subject: 'size:git:lfs', delta: '-5' }],
    ],
  );
  t.equal(world.gate.questions.length, 0);

  const other = await Gate.open(join(world.folder, 'other.sock'));
  t.teardown(() => other.close());
  t.match(await upload('--done', '--socket', other.socket, 'alice', 'size:git:lfs', '7'), {
    code: 0,
    stderr: '',
  });
  t.equal(other.changes[0]?.parameters.get('delta'), '7');

  t.match(await upload('--done', '/srv/packages/alice'), { code: 0, stdout: '', stderr: '' });
  t.same([...(world.gate.changes[0]?.parameters ?? [])], [['path', '/srv/packages/alice']]);
  t.equal(trusted.changes.length, 2);
});

byEachClient('a report that is not taken ends with 1 and the reason, and is sent once', async (t, client) => {
  const { trusted, upload } = await trustedHandler(t, client);
  const words = 'softquota: this upload could not be reported:';
  const answers: readonly (readonly [Answer, string])[] = [
    [plain(403, 'only the trusted socket\n'), `${words} the answer was 403.\nonly the trusted socket\n`],
    [plain(503), `${words} the answer was 503.\n`],
    [response => void response.destroy(), `${words} no answer at ${trusted.socket}.\n`],
  ];
  for (const [answer, stderr] of answers) {
    trusted.taking = answer;
    t.match(await upload('--done', 'alice', 'size:git:lfs', '5'), { code: 1, stdout: '', stderr });
  }
  t.equal(trusted.questions.length, answers.length);
  await trusted.close();
  t.match(await upload('--done', 'alice', 'size:git:lfs', '5'), { code: 1, stderr: /no answer at/ });
  const waiting = upload('--done', 'alice', 'size:git:lfs', '5');
  const back = await Gate.open(trusted.socket);
  t.teardown(() => back.close());
  t.match(await waiting, { code: 0, stderr: '' }, 'a daemon that starts meanwhile gets it');
  t.equal(back.changes.length, 1);
});
