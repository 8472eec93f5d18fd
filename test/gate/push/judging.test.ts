/** Refused pushes that delete or replace history: the worker judges them, and the hook asks until it has. */

import t from 'tap';
import {
  creates,
  deletes,
  incoming,
  MB,
  openPushWorld,
  type PushWorld,
  pendingJudge,
  unit,
  updates,
} from './world.ts';

const lines = updates('refs/heads/main');

async function overTheLimit(t: Parameters<typeof openPushWorld>[0], changed = {}): Promise<PushWorld> {
  const world = await openPushWorld(t, changed);
  world.walk(unit, 'bob', 11 * MB);
  return world;
}

/** Beside a worker that judges when the test says so. */
async function judged(t: Parameters<typeof openPushWorld>[0]) {
  const world = await overTheLimit(t);
  const judge = pendingJudge();
  world.worker({ isHere: true, ask: judge.ask });
  return { ...world, judge };
}

t.test('a push that makes the repository smaller goes on, counts, and is no refusal', async t => {
  const { push, judge, told, ledger, brings, mayWrite } = await judged(t);
  brings(1000);
  const asked = push({ lines, fields: { GIT_EXEC_PATH: '/usr/lib/git-core' } });
  t.same(await judge.asked, {
    kind: 'judge',
    path: unit,
    quarantine: incoming,
    lines,
    manner: 'any',
    hidden: [],
    exec_path: '/usr/lib/git-core',
  });
  t.same(told.pushes, [], 'not yet');
  judge.answer(true, 'this push makes the repository smaller, by 2 MB.');
  t.match(await asked, {
    status: 200,
    text: 'softquota: this push makes the repository smaller, by 2 MB.\n',
  });
  t.equal(told.pushes.length, 1);
  t.equal(ledger.units.unit(unit)?.bytes, 11 * MB + 1000);
  t.same([told.refused, mayWrite], [[], [unit]]);
});

t.test('one that does not stays refused, and is on record only then', async t => {
  const { push, judge, told } = await judged(t);
  const asked = push({ lines });
  await judge.asked;
  t.same(told.refused, []);
  judge.answer(false, 'it would \x1b[31mnot.');
  const { status, text } = await asked;
  t.equal(status, 413);
  t.match(text, /^Quota exceeded.*\n(.*\n)+softquota: it would \\u\{1b\}\[31mnot\.\n$/);
  t.equal(told.refused.length, 1);
  t.same(told.pushes, []);
});

t.test('what only adds is not judged', async t => {
  const { push, judge } = await judged(t);
  t.equal((await push({ lines: creates('refs/heads/a') })).status, 413);
  t.equal((await push({ lines, fields: { more: 'yes' } })).status, 413, 'a list that was cut');
  t.equal((await push({ lines, fields: { GIT_NAMESPACE: 'x' } })).status, 413, 'other names than git has');
  t.equal(
    (await push({ lines, fields: { GIT_QUARANTINE_PATH: '' } })).status,
    413,
    'objects that nobody sees',
  );
  t.equal((await push({ lines, fields: { GIT_QUARANTINE_PATH: 'incoming-zzzzzz' } })).status, 413);
  t.equal((await push({ lines: '', fields: { hook: 'receive-pack' } })).status, 413);
  t.equal(judge.calls, 0);
});

t.test('far over the limit it must not bring more than it frees', async t => {
  const { push, judge, walk } = await judged(t);
  walk(unit, 'bob', 21 * MB);
  const asked = push({ lines: deletes('refs/heads/a') + creates('refs/heads/b') });
  t.match(await judge.asked, { manner: 'less' });
  judge.answer(false, '');
  t.match(await asked, { status: 413 });
});

t.test('where no more is forgiven, a smaller history passes while it has room on the disk', async t => {
  const settings = { garbage: 'forgive', garbageMostBytes: 5 * MB } as const;
  const { push, walk, worker, ledger, brings } = await overTheLimit(t, settings);
  const stored = (bytes: number) => {
    walk(unit, 'bob', bytes);
    ledger.reach.measured(unit, { reachableBytes: bytes - 6 * MB, unreachableBytes: 6 * MB }, 0);
  };
  const judge = pendingJudge();
  worker({ isHere: true, ask: judge.ask });
  judge.answer(true, 'smaller.');
  // 10 MB, the 5 MB that are forgiven, and 10 MB for such pushes.
  stored(22 * MB);
  brings(4 * MB);
  const { status, text } = await push({ lines });
  t.equal(status, 413);
  t.match(text, /branches and tags, in a push of their own/);
  t.equal(judge.calls, 0);
  brings(2 * MB, { id: '3 4 5' });
  t.match(await push({ lines, fields: { process: '1' } }), { status: 200 });
  t.match(await judge.asked, { manner: 'any' });
});

t.test('hidden refs are told to the worker', async t => {
  const { push, judge } = await judged(t);
  const fields = {
    GL_REPOSITORY: 'project-1',
    GIT_QUARANTINE_PATH: '',
    GIT_OBJECT_DIRECTORY: `objects/${incoming}`,
  };
  const asked = push({ lines, fields });
  t.match(await judge.asked, { hidden: ['refs/keep-around/', 'refs/merge-requests/'] });
  judge.answer(true, 'smaller.');
  t.match(await asked, { status: 200, text: 'GL-HOOK-ERR: softquota: smaller.\n' });
});

t.test('without a worker it is refused, with what helps', async t => {
  const { push, told } = await overTheLimit(t);
  const { status, text } = await push({ lines });
  t.equal(status, 413);
  t.match(text, /delete branches and tags, in a push of their own/);
  t.notMatch(text, /smaller history/, 'which nobody could judge');
  t.equal(told.refused.length, 1);
});

t.test('while it is judged the hook is told to ask again, never before two seconds', async t => {
  const { push, judge, timing, told } = await judged(t);
  const first = push({ lines });
  await judge.asked;
  timing.pass(2000);
  t.equal(await Promise.race([first, new Promise(resolve => setImmediate(resolve, 'waits'))]), 'waits');
  timing.pass(1000);
  t.match(await first, { status: 202, text: '' });
  const second = push({ lines });
  // The question has to be there before the judge answers: it looks at the quarantine first.
  judge.answer(true, 'smaller.');
  t.match(await second, { status: 200, text: 'softquota: smaller.\n' });
  t.match(await push({ lines }), { status: 200 }, 'also where the answer was lost');
  t.equal(judge.calls, 1);
  t.equal(told.pushes.length, 1);
});

t.test('after a minute it is refused, the worker stops, and it is not judged for a minute', async t => {
  const { push, judge, timing, told } = await judged(t);
  const first = push({ lines });
  await judge.asked;
  timing.pass(3000);
  t.equal((await first).status, 202);
  timing.pass(57_000);
  const last = await push({ lines });
  t.match(last, { status: 413, text: /git took longer than 60 s\. Delete branches and tags first/ });
  t.equal(judge.signal?.aborted, true);
  t.equal(told.refused.length, 1);
  t.match(await push({ lines, fields: { process: '2' } }), {
    status: 413,
    text: /git took too long a moment ago/,
  });
  t.equal(judge.calls, 1);
  timing.pass(60_001);
  const again = push({ lines, fields: { process: '3' } });
  judge.answer(true, 'smaller.');
  t.equal((await again).status, 200);
});

t.test('meanwhile no other push writes refs there, but below the limit', async t => {
  const { push, judge, brings, walk, told } = await judged(t);
  brings(1072, { name: 'incoming-bbbbbb', sample: null });
  const other = { fields: { GIT_QUARANTINE_PATH: 'incoming-bbbbbb' }, lines: creates('refs/heads/old') };
  const asked = push({ lines });
  await judge.asked;
  const words = /another push that makes this repository smaller is under way; try again/;
  t.match(await push(other), { status: 413, text: words }, 'refs alone');
  t.match(await push({ lines, fields: { GIT_QUARANTINE_PATH: 'incoming-bbbbbb' } }), {
    status: 413,
    text: words,
  });
  t.equal((await push({ ...other, lines: deletes('refs/heads/x') })).status, 200);
  judge.answer(true, '');
  t.equal((await asked).status, 200);
  t.equal(judge.calls, 1);
  t.match(
    await push({ ...other, fields: { ...other.fields, process: '2' } }),
    { status: 413, text: words },
    'until its end',
  );
  walk(unit, 'bob', MB);
  t.equal((await push({ ...other, fields: { ...other.fields, process: '3' } })).status, 200);
  judge.end();
  walk(unit, 'bob', 11 * MB);
  t.equal((await push({ ...other, fields: { ...other.fields, process: '4' } })).status, 200);
  t.equal(told.refused.length, 3);
});

t.test('a push that is asked about anew ends its judgement, and no other', async t => {
  const { push, judge, brings } = await judged(t);
  brings(1000, { name: 'incoming-bbbbbb' });
  const first = push({ lines });
  await judge.asked;
  const other = { GIT_QUARANTINE_PATH: 'incoming-bbbbbb' };
  t.equal((await push({ lines, fields: other })).status, 413);
  t.equal((await push({ lines, fields: { ...other, process: '2' } })).status, 413);
  t.equal(judge.signal?.aborted, false, 'that was another push');
  const stopped = new Promise(resolve => judge.signal?.addEventListener('abort', resolve));
  const second = push({ lines, fields: { process: '3' } });
  await stopped;
  judge.answer(true, 'smaller.');
  t.match([(await first).status, (await second).status], [202, 200]);
  t.equal(judge.calls, 2);
});

t.test('the end of the daemon ends no push: the next one decides', async t => {
  const { push, judge, told, timing, pushQuestions } = await judged(t);
  const asked = push({ lines });
  await judge.asked;
  pushQuestions.close();
  t.equal(judge.signal?.aborted, true);
  judge.answer(false, '');
  t.match(await asked, { status: 202 });
  t.match(await push({ lines, fields: { process: '2' } }), { status: 202 });
  timing.pass(1);
  t.same([told.refused, told.pushes], [[], []]);
});

t.test('at its end the daemon answers what needs no judgement; other hooks ask again', async t => {
  const below = await openPushWorld(t);
  const over = await overTheLimit(t);
  for (const { brings, pushQuestions } of [below, over]) {
    brings(1000);
    pushQuestions.close();
  }
  t.equal((await below.push({ lines })).status, 200);
  t.equal((await over.push({ lines: creates('refs/heads/new') })).status, 413);
});

t.test('refs that may bring back what is forgiven are looked at within the same time', async t => {
  const { push, worker, timing, brings } = await overTheLimit(t, { garbage: 'forgive' });
  brings(1072, { sample: null });
  const asked = Promise.withResolvers<AbortSignal>();
  worker({
    isHere: true,
    ask: (_task, _ms, end) => {
      if (end !== undefined) asked.resolve(end);
      return new Promise(() => {});
    },
  });
  const first = push();
  const end = await asked.promise;
  timing.pass(3000);
  t.equal((await first).status, 202);
  timing.pass(57_000);
  t.equal((await push()).status, 413);
  t.equal(end.aborted, true);
});
