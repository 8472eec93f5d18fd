/** A refused push names what takes the space in its repository, without anybody having asked before. */

import { randomBytes } from 'node:crypto';
import { readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { until } from './ask.ts';
import { must, type Run, run } from './run.ts';
import { Server } from './server.ts';
import { withWorker } from './with-worker.ts';

t.setTimeout(120_000);

async function commit(clone: string, files: Readonly<Record<string, number>>): Promise<void> {
  for (const [name, bytes] of Object.entries(files)) await writeFile(join(clone, name), randomBytes(bytes));
  await must('git', ['add', '--all'], { cwd: clone });
  await must('git', ['commit', '-q', '-m', 'x'], { cwd: clone });
}

/** An owner over a limit of 4 MB, with a branch `big` that alone holds half of it. */
async function open(t: Test, ini: Readonly<Record<string, string>> = {}) {
  const server = await Server.open(t, {
    ini: {
      'quota.default': { TOTAL: '4M' },
      server: { ROOT_URL: 'https://quota.example/', ...ini },
    },
    repositories: ['alice/one', 'bob/two'],
  });
  const clone = join(server.folder, 'clone');
  await must('git', ['init', '-q', '-b', 'main', clone]);
  await must('git', ['remote', 'add', 'origin', server.path('alice/one')], { cwd: clone });
  await commit(clone, { readme: 2000, 'two\u001b[31m\u202e.bin': 1_500_000 });
  await must('git', ['push', '-q', 'origin', 'main'], { cwd: clone });
  await must('git', ['checkout', '-q', '-b', 'big'], { cwd: clone });
  await commit(clone, { 'film.bin': 3_000_000 });
  await must('git', ['push', '-q', 'origin', 'big'], { cwd: clone });
  await server.usageIs('alice', bytes => bytes > 4_000_000);
  const note = join(server.path('alice/one'), 'softquota-space');
  const push = async (): Promise<Run> => {
    await must('git', ['checkout', '-q', '-B', 'more', 'main'], { cwd: clone });
    await commit(clone, { [`more${randomBytes(4).toString('hex')}`]: 1000 });
    return run('git', ['push', 'origin', 'more'], { cwd: clone });
  };
  return { server, clone, note, push };
}

const isThere = (file: string) =>
  until(
    () => readFile(file, 'utf8').catch(() => null),
    () => `${file} was not written`,
  );

const isGone = (file: string) =>
  until(
    () =>
      stat(file).then(
        () => null,
        () => true,
      ),
    () => `${file} stayed`,
  );

function said({ stderr }: Run): readonly string[] {
  return stderr
    .split('\n')
    .filter(line => line.startsWith('remote: '))
    .map(line => line.slice('remote: '.length).trimEnd());
}

t.test('the refusal names the first three, what each frees, and the page, before whom to ask', async t => {
  const { server, push, note } = await open(t);
  const before = await push();
  t.equal(before.code, 1);
  t.notMatch(before.stderr, /film\.bin/);
  await withWorker(t, server, { run: 'measure' });
  await isThere(note);
  const lines = said(await push());
  t.match(lines, [
    /^Quota exceeded: alice uses 4\.\d+ MB of 4 MB/,
    'Removing these frees the most space in this repository:',
    '    3 MB  branch big',
    '    3 MB  file film.bin',
    '  1.5 MB  file two\\u{1b}[31m\\u{202e}.bin',
    'How to free it: https://quota.example/space/alice?repo=one',
    /^This repository: 4\.\d+ MB\. Nothing from this push was stored/,
  ]);
  t.equal(lines.at(-1), 'To ask for more space: https://git.example/quota');
  // Whoever may ask the gate learns nothing of it.
  const { text } = await server.ask('gate', `/v1/check?path=${server.path('alice/one')}`, {
    accept: 'text/plain',
  });
  t.notMatch(text, /film|big/);
});

t.test('after a deletion it does not name what is gone, and soon what is left', async t => {
  const { server, clone, push, note } = await open(t);
  await withWorker(t, server, { run: 'measure' });
  await isThere(note);
  await must('git', ['push', '-q', 'origin', '--delete', 'big'], { cwd: clone });
  const again = await until(
    async () => {
      const text = await readFile(note, 'utf8').catch(() => '');
      return text === '' || text.includes('branch big') ? null : text;
    },
    () => 'not looked at again',
  );
  t.match(again, /objects that nothing reaches: go with the next garbage collection/);
  const refused = await push();
  t.equal(refused.code, 1);
  t.notMatch(refused.stderr, /branch big/);
});

t.test('an owner far from the limit has no such file, and one without a page no link', async t => {
  const { server, note } = await open(t, { ROOT_URL: '' });
  await withWorker(t, server, { run: 'measure' });
  t.notMatch(await isThere(note), /How to free it/);
  await t.rejects(stat(join(server.path('bob/two'), 'softquota-space')));
});

t.test('an old file, one that is no file, and one with controls do no harm', async t => {
  const { server, push, note } = await open(t);
  const file = join(server.folder, 'other');
  await writeFile(file, 'head\nsecret of another\n');
  await must('ln', ['-s', file, note]);
  t.notMatch((await push()).stderr, /secret/);
  await must('rm', [note]);
  await must('mkfifo', [note]);
  t.equal((await push()).code, 1);
  await must('rm', [note]);
  await writeFile(note, `head\n${'line \u001b]0;x\u0007 \u202e\n'.repeat(40)}`);
  const odd = await push();
  t.equal(said(odd).filter(line => line.startsWith('line')).length, 5);
  t.notMatch(odd.stderr, /[\u001b\u0007\u202e]/);
  await writeFile(note, `head\n${'long '.repeat(2000)}\n`);
  t.notMatch((await push()).stderr, /long/);
  await writeFile(note, 'head\nold\n');
  const old = new Date(Date.now() - 4 * 86_400_000);
  await utimes(note, old, old);
  t.notMatch((await push()).stderr, /\nremote: old/);
  // A worker puts its own in the place of anything.
  await must('rm', [note]);
  await must('ln', ['-s', file, note]);
  await withWorker(t, server, { run: 'measure' });
  await until(
    async () => ((await readFile(note, 'utf8').catch(() => '')).includes('branch big') ? true : null),
    () => 'not replaced',
  );
  t.equal(await readFile(file, 'utf8'), 'head\nsecret of another\n');
  await isGone(`${note}.new`);
});
