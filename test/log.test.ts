import { mock } from 'node:test';
import t, { type Test } from 'tap';
import { sparingLog } from '../src/log.ts';

const minuteMs = 60_000;

function world(t: Test) {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => mock.timers.reset());
  const lines: { readonly level: string; readonly message: string; readonly fields: object }[] = [];
  const write = (level: string) => (fields: object, message: string) =>
    void lines.push({ level, message, fields });
  const log = sparingLog({ error: write('error'), warn: write('warn'), info: write('info') });
  return { log, take: () => lines.splice(0) };
}

t.test('a line that comes again within a minute is written at its end, with a count', async t => {
  const { log, take } = world(t);
  const refused = (actor: string, used: number) => log.info({ owner: 'alice', actor, used }, 'refused');
  for (let used = 1; used <= 1000; used++) refused('alice', used);
  refused('bob', 7);
  t.strictSame(
    take().map(({ fields }) => fields),
    [
      { owner: 'alice', actor: 'alice', used: 1 },
      { owner: 'alice', actor: 'bob', used: 7 },
    ],
    'the first of each at once',
  );
  mock.timers.tick(minuteMs - 1);
  t.strictSame(take(), []);
  mock.timers.tick(1);
  const again = { owner: 'alice', actor: 'alice', used: 1000, times: 999 };
  t.strictSame(take(), [{ level: 'info', message: 'refused', fields: again }], 'with its last figures');
  refused('alice', 1001);
  refused('bob', 8);
  t.equal(take().length, 1, 'that was a line of the next minute');
  mock.timers.tick(minuteMs);
  t.match(take(), [{ fields: { used: 1001, times: 1 } }]);
  mock.timers.tick(minuteMs);
  t.strictSame(take(), []);
  refused('alice', 1002);
  t.match(take(), [{ fields: { used: 1002 } }], 'after a quiet minute the first is written at once again');
});

t.test('there are 100 lines a minute, and one that counts the others', async t => {
  const { log, take } = world(t);
  const fill = () => {
    for (let count = 0; count < 10_000; count++) log.error({ err: new Error(`${count}`) }, 'internal error');
  };
  fill();
  t.equal(take().length, 100);
  fill();
  t.strictSame(take(), []);
  mock.timers.tick(minuteMs);
  const [left, ...lines] = take();
  t.match(left, { level: 'error', fields: { lines: 19_800 } });
  t.equal(lines.length, 100);
  fill();
  t.strictSame(take(), [], 'what came again took the room of this minute');
});
