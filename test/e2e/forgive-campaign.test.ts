/**
 * An owner who pushes and deletes without end, in several repositories, brings old objects back, rewrites
 * histories, renames, and meets a worker that comes and goes: the disk holds the limit, GARBAGE_MOST and one
 * push, and nothing is forgiven that a ref reaches.
 */

import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import t from 'tap';
import { z } from 'zod';
import { isLong } from '../run-length.ts';
import { until } from './ask.ts';
import { Clone } from './clone.ts';
import { counted } from './count.ts';
import { must, type Run, run } from './run.ts';
import { Server } from './server.ts';
import { withWorker } from './with-worker.ts';

const steps = isLong ? 400 : 10;
t.setTimeout(240_000 + steps * 10_000);

const limit = 500_000;
const most = 250_000;
const largest = 300_000;
/** Refs, logs, indexes of packs: what lies beside the objects. */
const besides = 60_000;

const usage = z.object({
  decisions: z.record(
    z.string(),
    z.object({
      garbage: z.object({ stored: z.number(), unreachable: z.number(), billed: z.number() }).optional(),
    }),
  ),
});

const moves = [
  ...(['push', 'push', 'push', 'delete', 'delete'] as const),
  ...(['rewrite', 'revive', 'gc', 'rename', 'worker'] as const),
];

t.test('a campaign of pushes and deletions never fills the disk', async t => {
  const server = await Server.open(t, {
    ini: {
      quota: { GARBAGE: 'forgive', GARBAGE_MOST: String(most) },
      'quota.default': { TOTAL: String(limit) },
    },
    repositories: ['alice/a', 'alice/b', 'alice/c'],
  });
  const clone = await Clone.of(server, server.path('alice/a'));
  let worker = await withWorker(t, server, { run: 'measure' });
  let isWorking = true;
  const seed = Number(process.env.SOFTQUOTA_SEED ?? (isLong ? Date.now() % 1_000_000 : 1));
  t.comment(`SOFTQUOTA_SEED=${seed}`);
  const [plan = []] = fc.sample(
    fc.array(
      fc.tuple(fc.constantFrom(...moves), fc.nat(2), fc.nat(1000), fc.integer({ min: 1000, max: largest })),
      { minLength: steps, maxLength: steps },
    ),
    { numRuns: 1, seed },
  );
  // Over the limit, and below it again.
  const opening = [
    ['push', 0, 0, largest],
    ['push', 1, 0, largest],
    ['push', 2, 0, largest],
    ['delete', 0, 0, 1],
  ] as const;
  const names = ['alice/a', 'alice/b', 'alice/c'];
  /** All commits that were ever pushed, by repository. */
  const pushed: string[][] = [[], [], []];
  const branches: string[][] = [[], [], []];
  let begun = 0;
  const push = (at: number, ref: string) =>
    run('git', ['push', '-q', '--force', server.path(names[at] ?? ''), ref], { cwd: clone.folder });
  const commit = async (bytes: number) => {
    await clone.git('checkout', '-q', '--orphan', `c${++begun}`);
    await clone.commit({ file: bytes });
    return clone.git('rev-parse', 'HEAD');
  };

  const counts = { passed: 0, refused: 0, forgiven: 0, highest: 0 };
  for (const [move, at, pick, bytes] of [...opening, ...plan]) {
    const own = branches[at] ?? [];
    const old = pushed[at] ?? [];
    const branch = own[pick % Math.max(own.length, 1)];
    let done: Pick<Run, 'code'> = { code: 0 };
    if (move === 'push') {
      const id = await commit(bytes);
      done = await push(at, `${id}:refs/heads/b${begun}`);
      if (done.code === 0) own.push(`b${begun}`);
      if (done.code === 0) old.push(id);
    } else if (move === 'rewrite' && branch !== undefined) {
      const id = await commit(Math.ceil(bytes / 4));
      done = await push(at, `${id}:refs/heads/${branch}`);
      if (done.code === 0) old.push(id);
    } else if (move === 'delete' && branch !== undefined) {
      done = await push(at, `:refs/heads/${branch}`);
      t.equal(done.code, 0, 'a deletion is never refused');
      branches[at] = own.filter(each => each !== branch);
    } else if (move === 'revive' && old.length > 0) {
      done = await push(at, `${old[pick % old.length]}:refs/heads/again${pick}`);
      if (done.code === 0) branches[at] = [...new Set([...own, `again${pick}`])];
    } else if (move === 'gc' && pick < 300) {
      await must('git', ['gc', '-q', '--prune=now'], { cwd: server.path(names[at] ?? '') });
      pushed[at] = [];
    } else if (move === 'rename') {
      const next = `alice/${'abc'[at]}${begun}${pick}`;
      await rename(server.path(names[at] ?? ''), server.path(next));
      names[at] = next;
    } else if (move === 'worker' && pick < 500) {
      if (isWorking) await worker.close();
      else worker = await withWorker(t, server, { run: 'measure' });
      isWorking = !isWorking;
    }
    if (done.code === 0) counts.passed += 1;
    else counts.refused += 1;

    await server.scan();
    const disk = await counted(join(server.folder, 'git'));
    counts.highest = Math.max(counts.highest, disk);
    t.ok(disk <= limit + most + largest + besides, `${move}: ${disk} on the disk`);
    const told = usage.parse(JSON.parse((await server.ask('trusted', '/v1/usage?owner=alice')).text));
    const { garbage } = told.decisions['size:all'] ?? {};
    const forgiven = garbage === undefined ? 0 : garbage.stored - garbage.billed;
    counts.forgiven = Math.max(counts.forgiven, forgiven);
    t.ok(forgiven <= most, `${forgiven} forgiven`);
    if (!isWorking) continue;
    let reachable = 0;
    for (const name of names) {
      const args = ['rev-list', '--objects', '--all', '--disk-usage'];
      reachable += Number((await must('git', args, { cwd: server.path(name) })).trim());
    }
    await until(
      async () => {
        const now = usage.parse(JSON.parse((await server.ask('trusted', '/v1/usage?owner=alice')).text));
        const its = now.decisions['size:all']?.garbage;
        if (move === 'delete' && begun === 3 && counts.forgiven === 0 && its === undefined) return null;
        counts.forgiven = Math.max(counts.forgiven, its === undefined ? 0 : its.stored - its.billed);
        return its === undefined || its.stored - its.unreachable >= reachable ? true : null;
      },
      () => `${move}: of what is forgiven some is reachable`,
    );
  }
  t.comment(JSON.stringify(counts));
  t.ok(counts.forgiven > 0);
  t.ok(counts.refused > 0);
});
