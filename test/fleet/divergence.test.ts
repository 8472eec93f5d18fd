/** Policies of a shared store that are taken over, and those that are not. */

import t from 'tap';
import { judge } from '../../src/fleet/divergence.ts';
import type { Position } from '../../src/store/index.ts';

const at = (version: number, mark = `m${version}`, generation = 'one'): Position => ({
  generation,
  version,
  mark,
});
const state = (position: Position | null, supersedes: readonly string[] = []) => ({ position, supersedes });
const nothing = () => null;
const knowing = (position: Position | null, markOf: (version: number) => string | null = nothing) => ({
  position,
  isEmpty: false,
  markOf,
});
const fresh = { position: null, isEmpty: true, markOf: nothing };

t.test('what followed from the known policy is taken over', async t => {
  t.match(judge(knowing(at(4)), state(at(4)), null), { is: 'same' });
  t.match(judge(knowing(at(4)), state(at(6)), 'm4'), { is: 'later' });
  t.match(judge(knowing(at(4)), state(at(900)), null), { is: 'later' }, 'the change is not told any more');
});

t.test('a host that knows nothing takes what is there, and begins where there is nothing', async t => {
  t.match(judge(fresh, state(at(4)), null), { is: 'instead' });
  t.match(judge(fresh, state(null), null), { is: 'empty' });
  t.match(judge(knowing(at(4)), state(null), null), { is: 'empty' }, 'what it has lost is put back');
});

t.test('a store that lacks changes undoes none of them', async t => {
  t.match(judge(knowing(at(4)), state(at(3)), null), {
    is: 'diverged',
    divergence: { why: 'older', message: /lacks the last change of/ },
  });
  t.match(judge(knowing(at(4)), state(at(1)), null), {
    divergence: { why: 'older', message: /last 3 changes/ },
  });
});

t.test('a store where the known policy came from lacks only what can be written again', async t => {
  const line = (version: number) => `m${version}`;
  t.match(judge(knowing(at(4), line), state(at(2)), null), { is: 'lacking', divergence: { why: 'older' } });
  t.match(
    judge(knowing(at(4), line), state(at(2, 'other')), null),
    { is: 'diverged', divergence: { why: 'older' } },
    'which one with another change in its place does not',
  );
  t.match(judge(knowing(at(4), line), state(at(2, 'm2', 'two')), null), { is: 'diverged' });
});

t.test('changes that were made upon an older policy do not pass for what followed', async t => {
  t.match(judge(knowing(at(4)), state(at(4, 'other')), null), {
    is: 'diverged',
    divergence: { why: 'older' },
  });
  t.match(judge(knowing(at(4)), state(at(6)), 'other'), {
    divergence: { why: 'older' },
  });
});

t.test('another policy is taken over only where somebody decided so', async t => {
  t.match(judge(knowing(at(4)), state(at(9, 'x', 'two')), null), {
    is: 'diverged',
    divergence: { why: 'another' },
  });
  t.match(judge(knowing(null), state(at(1)), null), { is: 'unrelated' });
  t.match(judge(knowing(at(4)), state(at(1, 'x', 'two'), ['zero', 'one']), null), { is: 'instead' });
});
