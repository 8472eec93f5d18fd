/** Which policies of a shared store are taken over, and which are not. */

import t from 'tap';
import { judge } from '../../src/fleet/trust.ts';
import type { Position, SharedState } from '../../src/store/index.ts';

const at = (version: number, mark = `m${version}`, generation = 'one'): Position => ({
  generation,
  version,
  mark,
});
const state = (position: Position | null, supersedes: readonly string[] = []): SharedState => ({
  position,
  supersedes,
  lastChange: 9,
});
const knowing = (position: Position | null) => ({ position, isEmpty: false });
const fresh = { position: null, isEmpty: true };

t.test('what followed from the known policy is taken over', async t => {
  t.match(judge(knowing(at(4)), state(at(4)), null), { is: 'same' });
  t.match(judge(knowing(at(4)), state(at(6)), 'm4'), { is: 'later' });
  t.match(judge(knowing(at(4)), state(at(900)), null), { is: 'later' }, 'the log is cut short');
});

t.test('a machine that knows nothing takes what is there, and begins where there is nothing', async t => {
  t.match(judge(fresh, state(at(4)), null), { is: 'instead' });
  t.match(judge(fresh, state(null), null), { is: 'none' });
});

t.test('an emptied store undoes nothing', async t => {
  t.match(judge(knowing(at(4)), state(null), null), { is: 'distrusted', distrust: { why: 'emptied' } });
  t.match(
    judge({ position: at(1), isEmpty: true }, state(null), null),
    { distrust: { why: 'emptied' } },
    'that nothing is laid down was ruled, too',
  );
  t.match(
    judge({ position: null, isEmpty: false }, state(null), null),
    { distrust: { why: 'emptied' } },
    'of a store of its own',
  );
});

t.test('a store that lacks changes undoes none of them', async t => {
  t.match(judge(knowing(at(4)), state(at(3)), null), {
    is: 'distrusted',
    distrust: { why: 'older', message: /lacks the last change of/ },
  });
  t.match(judge(knowing(at(4)), state(at(1)), null), {
    distrust: { why: 'older', message: /last 3 changes/ },
  });
});

t.test('changes that were made upon an older policy do not pass for what followed', async t => {
  t.match(judge(knowing(at(4)), state(at(4, 'other')), null), {
    is: 'distrusted',
    distrust: { why: 'older' },
  });
  t.match(judge(knowing(at(4)), state(at(6)), 'other'), {
    distrust: { why: 'older' },
  });
});

t.test('another policy is taken over only where somebody decided so', async t => {
  t.match(judge(knowing(at(4)), state(at(9, 'x', 'two')), null), {
    is: 'distrusted',
    distrust: { why: 'another' },
  });
  t.match(judge({ position: null, isEmpty: false }, state(at(1)), null), { is: 'unrelated' });
  t.match(judge(knowing(at(4)), state(at(1, 'x', 'two'), ['zero', 'one']), null), { is: 'instead' });
});
