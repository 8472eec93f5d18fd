/** Walks that take long and get on are in the log, with their paths. */

import t from 'tap';
import type { Observed } from '../../src/health/index.ts';
import { tellLongWalks } from '../../src/measuring/long-walks.ts';

t.test('a walk that takes long and gets on is told once, and again when it is over', async t => {
  const large = { path: '/srv/large', milliseconds: 31_000 };
  const small = { path: '/srv/small', milliseconds: 29_000 };
  const stuck = { path: '/far/a', milliseconds: 40_000 };
  const seen: Pick<Observed, 'hangs' | 'walking'>[] = [
    { walking: [small], hangs: [] },
    {
      walking: [small, large, stuck],
      hangs: [{ path: '/far/a/objects', mountedAt: '/far', milliseconds: 31_000 }],
    },
    { walking: [{ ...large, milliseconds: 36_000 }], hangs: [] },
    { walking: [small], hangs: [] },
    { walking: [], hangs: [] },
  ];
  const lines: unknown[] = [];
  const all = Promise.withResolvers<void>();
  // The watch itself keeps no process alive.
  const alive = setInterval(() => {}, 1000);
  t.teardown(() => clearInterval(alive));
  const status = () => {
    const next = seen.shift();
    if (next !== undefined) return next;
    all.resolve();
    return { walking: [], hangs: [] };
  };
  const log = {
    info: (details: object, message: string) => lines.push(['info', details, message]),
    warn: (details: object, message: string) => lines.push(['warn', details, message]),
  };
  const stop = tellLongWalks({ status, log, everyMs: 1 });
  await all.promise;
  stop();
  t.strictSame(lines, [
    [
      'warn',
      { path: '/srv/large', seconds: 31 },
      'the walk of a unit has taken more than half a minute, and makes progress',
    ],
    ['info', { path: '/srv/large' }, 'a long walk has ended'],
  ]);
});
