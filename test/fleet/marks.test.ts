/** Losses of the shared store are noticed, and hosts write again what it lost. */

import t from 'tap';
import { SoftquotaError } from '../../src/errors.ts';
import { Marks, type MarksOptions } from '../../src/fleet/marks.ts';
import type { ShareRecord } from '../../src/store/index.ts';
import { share } from '../store/records.ts';

/** A host whose store may lose its marks, or be away; everything that happens, in order. */
function world(others: readonly ShareRecord[] = []) {
  const state = { mark: null as string | null, isAway: false };
  const happened: string[] = [];
  const asked = <T>(what: string, answer: () => T) => {
    if (state.isAway) throw new SoftquotaError('store_away', what);
    return answer();
  };
  const store: MarksOptions['store'] = {
    mark: async (_, mark) =>
      asked('mark', () => {
        state.mark = mark;
        happened.push('mark');
      }),
    isMarked: async (_, mark) => asked('isMarked', () => state.mark === mark),
    hosts: async () =>
      asked('hosts', () =>
        ['living', 'silent'].map(host => ({ host, isAlive: host === 'living', seenAt: 0, version: '1' })),
      ),
    restoreShares: async shares =>
      asked('restoreShares', () => {
        happened.push(...shares.map(({ ownerKey, host }) => `restored ${ownerKey} on ${host}`));
      }),
  };
  const marksOf = (tellingMs: number) =>
    new Marks({
      shares: { sharesOfOthers: others },
      store,
      host: 'here',
      log: { warn: (_, message) => happened.push(message) },
      tell: ({ is }) => happened.push(is === 'usage lost' ? 'lost' : 'over'),
      everyMs: 0,
      tellingMs,
    });
  return { state, happened, marksOf };
}

const said = 'the shared store has lost usage of this host; it is written again';

t.test('a mark is put at the start, and while it is there nothing happens', async t => {
  const { happened, marksOf } = world();
  const marks = marksOf(60_000);
  t.notOk(await marks.isLacking(), 'who has put none has lost nothing');
  for (let looks = 0; looks < 3; looks += 1) await marks.look();
  t.notOk(await marks.isLacking());
  t.strictSame(happened, ['mark']);
});

t.test(
  'where it is gone another one is put, then the silent are told of, then everything is told',
  async t => {
    const others = ['living', 'silent', 'forgotten'].map(host => share('alice', host));
    const { state, happened, marksOf } = world(others);
    const marks = marksOf(60_000);
    await marks.look();
    const first = state.mark;
    state.mark = null;
    t.ok(await marks.isLacking(), 'what is read from now on is not taken for all');
    happened.length = 0;
    await marks.look();
    t.strictSame(happened, ['mark', 'restored alice on silent', said, 'lost']);
    t.not(state.mark, first);
    await marks.look();
    t.ok(await marks.isLacking(), 'as long as others may not have told yet');
    t.equal(happened.length, 4, 'and it is told once');
    state.mark = null;
    await marks.look();
    t.equal(happened.filter(what => what === 'lost').length, 2, 'unless more is lost meanwhile');
  },
);

t.test('once all have had time to tell, the store is taken at its word', async t => {
  const { state, happened, marksOf } = world();
  const marks = marksOf(0);
  await marks.look();
  state.mark = 'of an older life';
  await marks.look();
  while (!happened.includes('over')) await marks.look();
  t.notOk(await marks.isLacking());
  t.strictSame(happened, ['mark', 'mark', said, 'lost', 'over']);
});

t.test('while the store is away nothing is put and nothing forgotten', async t => {
  const { state, happened, marksOf } = world();
  const marks = marksOf(60_000);
  state.isAway = true;
  await marks.look();
  t.strictSame(happened, []);
  state.isAway = false;
  await marks.look();
  state.mark = null;
  t.ok(await marks.isLacking());
  state.isAway = true;
  await marks.look();
  t.ok(await marks.isLacking(), 'what was found is known still');
  state.isAway = false;
  await marks.look();
  t.strictSame(happened, ['mark', 'mark', said, 'lost']);
});
