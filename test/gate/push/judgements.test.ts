/** The places of judgements, and what becomes of pushes that go on. */

import { availableParallelism } from 'node:os';
import { setImmediate as nextTurn } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { Judgements } from '../../../src/gate/push/judging.ts';
import type { WorkerTask } from '../../../src/wire/index.ts';

interface Asked {
  readonly task: WorkerTask;
  readonly signal: AbortSignal | undefined;
  answer(result: Readonly<Record<string, unknown>>): void;
  fail(): void;
}

/** Judgements beside a worker whose answers the test gives. Units are named OWNER/NAME. */
function open(t: Test) {
  const asked: Asked[] = [];
  const state = { isHere: true, isClosed: false, isRefused: true };
  const judgements = new Judgements({
    link: {
      get isHere() {
        return state.isHere;
      },
      get isClosed() {
        return state.isClosed;
      },
      connection: async () => {},
      ask: (task, _, signal) => {
        const { promise, resolve, reject } = Promise.withResolvers<Readonly<Record<string, unknown>>>();
        asked.push({
          task,
          signal,
          answer: resolve,
          fail: () => reject(new Error('the worker has stopped')),
        });
        signal?.addEventListener('abort', () => reject(new Error('nobody waits for it any more')));
        return promise;
      },
    },
    ownerOf: path => path.split('/')[0] ?? null,
    isRefused: () => state.isRefused,
  });
  const judge = (unit: string, signal = new AbortController().signal) =>
    judgements.judge(taskIn(unit), performance.now(), signal);
  t.teardown(() => judgements.close());
  const settled = async () => {
    for (let turn = 0; turn < 5; turn++) await nextTurn();
  };
  return { asked, state, judgements, judge, settled };
}

function taskIn(path: string) {
  const quarantine = 'tmp_objdir-incoming-abcdef';
  return { path, quarantine, lines: 'x', manner: 'any', hidden: [], exec_path: '' } as const;
}

const smaller = { smaller: true, words: 'by 1 MB', sample: 'pack/a.pack' };
const larger = { smaller: false, words: 'not smaller', sample: null };

t.test('one in a repository, two of an owner, and no more than there are cores', async t => {
  const { asked, judge, settled } = open(t);
  const first = judge('alice/a');
  void judge('alice/b');
  void judge('alice/c');
  await settled();
  t.equal(asked.length, Math.min(2, availableParallelism()), 'the third waits');
  for (let at = 0; at < availableParallelism() + 3; at++) void judge(`owner${at}/a`);
  await settled();
  t.equal(asked.length, availableParallelism());
  asked[0]?.answer(larger);
  t.same(await first, larger);
  await settled();
  t.equal(asked.length, availableParallelism() + 1, 'the next begins');
  for (let at = 1; at < asked.length; at++) {
    asked[at]?.answer(larger);
    await settled();
  }
  t.equal(asked.length, availableParallelism() + 6, 'all have their turn');
});

t.test('who waits for a place in vain is refused, and takes none', async t => {
  const { asked, judge, settled } = open(t);
  void judge('alice/a');
  void judge('alice/b');
  const stop = new AbortController();
  const third = judge('alice/c', stop.signal);
  await settled();
  stop.abort();
  t.match(await third, { smaller: false });
  asked[0]?.answer(larger);
  await settled();
  void judge('alice/d');
  await settled();
  t.equal(asked.length, 3);
});

t.test('without a worker, and where its connection breaks, a push stays refused', async t => {
  const { asked, state, judgements, judge, settled } = open(t);
  const pending = judge('alice/a');
  await settled();
  asked[0]?.fail();
  t.match(await pending, { smaller: false, words: /git cannot tell here.*Delete branches and tags first/ });
  t.notOk(judgements.isUnderWay('alice/a'));
  const odd = judge('alice/a');
  await settled();
  asked[1]?.answer({ smaller: 'yes' });
  t.match(await odd, { smaller: false });
  state.isHere = false;
  t.match(await judge('alice/a'), { smaller: false, words: '' });
  t.equal(asked.length, 2);
});

t.test('a push that goes on is under way until the worker has seen its end', async t => {
  const { asked, judgements, judge, settled } = open(t);
  const going = judge('alice/a');
  t.ok(judgements.isUnderWay('alice/a'));
  await settled();
  asked[0]?.answer(smaller);
  t.same(await going, smaller);
  t.ok(judgements.isUnderWay('alice/a'));
  await settled();
  const { signal } = new AbortController();
  const bringsBack = () => judgements.bringsBack(taskIn('alice/a'), performance.now(), signal);
  t.match(asked[1]?.task, { kind: 'outcome', path: 'alice/a', sample: 'pack/a.pack' });
  t.equal(await bringsBack(), true, 'nobody knows until then');
  asked[1]?.answer({ kept: true });
  await settled();
  t.notOk(judgements.isUnderWay('alice/a'));
  void judge('alice/a');
  await settled();
  t.equal(asked.length, 3);
});

t.test('where git did only a part, nothing more is judged until the owner is below the limit', async t => {
  const { asked, state, judgements, judge, settled } = open(t);
  const going = judge('alice/a');
  await settled();
  asked[0]?.answer(smaller);
  await going;
  await settled();
  asked[1]?.answer({ kept: false });
  await settled();
  judgements.look();
  t.match(await judge('alice/a'), { smaller: false, words: /git did only a part of it/ });
  void judge('alice/b');
  await settled();
  t.equal(asked.length, 3, 'elsewhere it is');
  state.isRefused = false;
  judgements.look();
  state.isRefused = true;
  void judge('alice/a');
  await settled();
  t.equal(asked.length, 4);
});

t.test('a worker that comes back sees to the end of a push that the one before let go on', async t => {
  const { asked, judgements, judge, settled } = open(t);
  const going = judge('alice/a');
  await settled();
  asked[0]?.answer(smaller);
  await going;
  await settled();
  asked[1]?.fail();
  while (asked.length < 3) await new Promise(resolve => setTimeout(resolve, 20));
  t.ok(judgements.isUnderWay('alice/a'));
  asked[2]?.answer({ kept: true });
  await settled();
  t.notOk(judgements.isUnderWay('alice/a'));
});
