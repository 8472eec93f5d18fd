/** A refused push names what takes the space in its repository, without anybody having asked before. */

import { readdir } from 'node:fs/promises';
import t, { type Test } from 'tap';
import { until } from './ask.ts';
import { Clone } from './clone.ts';
import { Server } from './server.ts';
import { withWorker } from './with-worker.ts';

/** An owner over a limit of 4 MB, with a branch `big` that alone holds half of it. */
async function open(t: Test, ini: Readonly<Record<string, string>> = {}) {
  const server = await Server.open(t, {
    ini: {
      'quota.default': { TOTAL: '4M' },
      server: { ROOT_URL: 'https://quota.example/', ...ini },
    },
    repositories: ['alice/one', 'bob/two'],
  });
  const clone = await Clone.of(server, server.path('alice/one'));
  await clone.commit({ readme: 2000, 'two\u001b[31m\u202e.bin': 1_500_000 });
  await clone.git('push', '-q', 'origin', 'main');
  await clone.git('checkout', '-q', '-b', 'big');
  await clone.commit({ 'film.bin': 3_000_000 });
  await clone.git('push', '-q', 'origin', 'big');
  await server.usageIs('alice', bytes => bytes > 4_000_000);
  const push = async () => {
    await clone.git('checkout', '-q', '-B', 'more', 'main');
    await clone.commit(1000);
    return clone.push(['more']);
  };
  /** Resolves with the lines of a refused push that match. */
  const refusal = (isIt: (lines: readonly string[]) => boolean) =>
    until(
      async () => {
        const lines = (await push()).said.split('\n');
        return isIt(lines) ? lines : null;
      },
      () => 'no refusal says so',
    );
  return { server, clone, push, refusal };
}

t.test('the refusal names the first three, what each frees, and the page, before whom to ask', async t => {
  const { server, push, refusal } = await open(t);
  const before = await push();
  t.equal(before.code, 1);
  t.notMatch(before.stderr, /film\.bin/);
  await withWorker(t, server, { run: 'measure' });
  const lines = await refusal(found => found.some(line => line.includes('film.bin')));
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
  // Users who may only ask the gate learn nothing of it.
  const { text } = await server.ask('gate', `/v1/check?path=${server.path('alice/one')}`, {
    accept: 'text/plain',
  });
  t.notMatch(text, /film|big/);
  const kept = await readdir(server.path('alice/one'));
  t.same(
    kept.filter(name => name.startsWith('softquota')),
    [],
    'nothing of it is in the repository',
  );
});
