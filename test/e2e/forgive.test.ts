/** GARBAGE = forgive, with the daemon, the worker, the hooks and git: what is deleted does not count. */

import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { z } from 'zod';
import { ownerReport } from '../../src/wire/index.ts';
import { until } from './ask.ts';
import type { Clone } from './clone.ts';
import { must } from './run.ts';
import { Server } from './server.ts';
import { withWorker } from './with-worker.ts';

const push = (clone: Clone, ...refs: readonly string[]) => clone.push(['--force', ...refs]);

async function open(t: Test) {
  const server = await Server.open(t, {
    ini: { quota: { GARBAGE: 'forgive' }, 'quota.default': { TOTAL: '3M' } },
    repositories: ['alice/one'],
  });
  const clone = await server.filled('alice/one', 2000);
  for (const branch of ['big', 'other']) {
    await clone.git('checkout', '-q', '-b', branch, 'main');
    await clone.commit(2_000_000);
    t.equal((await push(clone, branch)).code, 0);
    await server.usageIs('alice', bytes => bytes > 2_000_000);
  }
  await server.usageIs('alice', bytes => bytes > 4_000_000);
  await clone.git('checkout', '-q', 'main');
  await clone.commit(1000);
  return { server, clone };
}

const checked = z.object({
  allowed: z.boolean(),
  used: z.number(),
  limit: z.number(),
  message: z.string(),
  garbage: z
    .object({ stored: z.number(), unreachable: z.number(), billed: z.number(), most: z.number() })
    .optional(),
});

type Checked = z.infer<typeof checked>;

async function check(server: Server, owner: string): Promise<Checked> {
  const asked = `/v1/check?owner=${owner}&subject=size:repos:private`;
  return checked.parse(JSON.parse((await server.ask('gate', asked)).text));
}

/** Resolves once the check answers like this. */
function checkIs(server: Server, isIt: (answer: Checked) => boolean, owner = 'alice'): Promise<Checked> {
  let last = '';
  return until(
    async () => {
      const answer = await check(server, owner);
      last = JSON.stringify(answer);
      return isIt(answer) ? answer : null;
    },
    () => `the check stayed at ${last}\n${server.daemon.log}`,
  );
}

function garbageIn({ garbage }: Checked): NonNullable<Checked['garbage']> {
  if (garbage === undefined) throw new Error('all counts');
  return garbage;
}

t.test('a refused owner deletes a branch, and the next push passes, without an administrator', async t => {
  const { server, clone } = await open(t);
  const worker = await withWorker(t, server, { run: 'measure' });
  const refused = await push(clone, 'main');
  t.equal(refused.code, 1);
  t.match(refused.stderr, /Quota exceeded: alice uses 4\.\d+ MB of 3 MB/);
  t.match(refused.stderr.replaceAll(/\s*\nremote: /g, ' '), /no branch or tag reaches then does not count\./);
  const begun = performance.now();
  t.equal((await push(clone, ':big')).code, 0);
  await until(async () => ((await push(clone, 'main')).code === 0 ? true : null));
  t.ok(performance.now() - begun < 60_000);

  await server.scan();
  const answer = await checkIs(server, ({ garbage }) => (garbage?.unreachable ?? 0) > 1_900_000);
  const { stored, unreachable, billed, most } = garbageIn(answer);
  t.ok(stored > 4_000_000, 'all of it is still on the disk');
  t.equal(billed, stored - unreachable);
  t.match(answer, { allowed: true, used: billed, limit: 3_000_000, garbage: { most: 3_000_000 } });
  t.equal(most, 3_000_000);
  t.match(
    answer.message,
    /^alice uses 2\.\d+ MB of 3 MB \(\d+ %\)\. 2 MB more do not count, since no branch/,
  );

  t.match(await server.done('usage alice'), /Of 4\.\d+ MB stored, 2 MB are unreachable; 2\.\d+ MB count\./);
  const { decisions, garbage } = ownerReport.parse(await server.json('usage alice'));
  t.same(garbage, answer.garbage);
  t.same(decisions['size:repos:private']?.garbage, answer.garbage);
  t.match(
    await server.done('why alice'),
    /2 MB of it is unreachable\.\nOf 4\.\d+ MB stored, 2 MB are unreachable; 2\.\d+ MB count\./,
  );
  const explained = await server.admin('/admin/quota/explain?user=alice&subject=size:all');
  t.match(explained, { decision: { garbage: answer.garbage } });

  // A ref to an old object brings it back without a byte on the way.
  const old = await clone.git('rev-parse', 'big');
  t.equal((await push(clone, `${old}:refs/heads/again`)).code, 0, 'the owner is below the limit');
  await checkIs(server, ({ allowed, garbage: now }) => !allowed && now === undefined);
  t.equal((await push(clone, ':again')).code, 0);
  await checkIs(server, ({ allowed }) => allowed);

  await worker.close();
  await server.scan();
  const before = await check(server, 'alice');
  t.ok(before.allowed);
  await server.stop();
  await server.start();
  t.same(await check(server, 'alice'), before, 'after a restart');
  await server.reload({ quota: { GARBAGE: 'bill' } });
  await checkIs(server, ({ allowed, garbage: now }) => !allowed && now === undefined);
});

t.test('a fork by hard links is forgiven what its parent has deleted, and loses it alone', async t => {
  const server = await Server.open(t, {
    ini: { quota: { GARBAGE: 'forgive' }, 'quota.default': { TOTAL: '10M' } },
    repositories: ['alice/one'],
  });
  const worker = await withWorker(t, server, { run: 'measure' });
  const clone = await server.filled('alice/one', 2000);
  const parent = server.path('alice/one');
  for (const branch of ['packed', 'loose']) {
    await clone.git('checkout', '-q', '-b', branch, 'main');
    await clone.commit(4_200_000);
    t.equal((await push(clone, branch)).code, 0);
    if (branch === 'packed') await must('git', ['-C', parent, 'repack', '-q', '-a', '-d']);
  }
  t.equal((await push(clone, ':packed', ':loose')).code, 0);
  await must('find', [join(parent, 'objects'), '-type', 'f', '-exec', 'touch', '-d', '1 day ago', '{}', '+']);

  const fork = server.path('bob/fork');
  await must('git', ['clone', '-q', '--bare', '--local', '--template=', parent, fork]);
  await server.installHooks();
  const linked = await linkedBytes(fork);
  t.ok(linked > 8_400_000, 'they take no disk of their own');
  const answer = await checkIs(server, ({ garbage }) => (garbage?.unreachable ?? 0) > 8_400_000, 'bob');
  t.match(answer, { allowed: true, used: garbageIn(answer).billed });
  t.ok(answer.used < 100_000, String(answer.used));
  await clone.git('checkout', '-q', 'main');
  await clone.commit(1000);
  t.equal(await clone.git('push', '-q', fork, 'main'), '', 'bob pushes, though 8.4 MB lie there');

  await server.reload({ quota: { GARBAGE_MOST: '1M' } });
  const capped = await checkIs(server, ({ garbage }) => garbage?.most === 1_000_000, 'bob');
  t.ok(
    capped.used > 7_400_000,
    'a most holds for what is linked, too: both could delete it, and it would stay',
  );

  t.match(await server.done('reclaim bob/fork'), /8\.4 MB/);
  await checkIs(server, ({ used, garbage }) => used < 100_000 && garbage === undefined, 'bob');
  t.ok((await linkedBytes(fork)) < 100_000);
  t.ok((await server.usage('alice')) > 8_400_000, 'the parent has lost nothing');
  await must('git', ['-C', parent, 'fsck', '--strict']);
  await worker.close();
});

/** Bytes of the files of a repository's objects that have another name. */
async function linkedBytes(repository: string): Promise<number> {
  const found = await readdir(join(repository, 'objects'), { recursive: true, withFileTypes: true });
  const files = found
    .filter(entry => entry.isFile())
    .map(({ parentPath, name }) => stat(join(parentPath, name)));
  return (await Promise.all(files)).reduce((sum, { nlink, size }) => sum + (nlink > 1 ? size : 0), 0);
}
