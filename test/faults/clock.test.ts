/** A clock that is set while the daemon runs. */

import t from 'tap';
import { Clone } from '../e2e/clone.ts';
import { counted } from '../e2e/count.ts';
import type { LogLine } from '../e2e/daemon.ts';
import { Server } from '../e2e/server.ts';
import { WallClock } from '../e2e/wall-clock.ts';

const dayMs = 86_400_000;

t.test(
  'with the clock set back by days, and forward by years, nothing hangs and nothing is lost',
  async t => {
    const server = await Server.open(t, { started: false, repositories: ['alice/app', 'bob/app'] });
    const clock = await WallClock.open(server.folder);
    const daemon = await server.start({ env: clock.env });
    const bare = server.path('alice/app');
    const clone = await Clone.of(server, bare);
    const timeOf = (line: LogLine) => Date.parse(String(line.time));
    // It tells of the first sweep as soon as all is measured, and that it has ended a moment later.
    await daemon.logged(/^a sweep has ended$/, 0);

    for (const [to, offsetMs] of [
      ['-3d', -3 * dayMs],
      ['+800d', 800 * dayMs],
      ['-800d', -800 * dayMs],
      ['+0', 0],
    ] as const) {
      const from = daemon.lines.length;
      await clock.setBy(to);
      if (offsetMs > 365 * dayMs) {
        // Its only sweep is due on the first of January: one of the many that were missed is made up for.
        t.match(
          await daemon.logged(/^a sweep begins$/, from),
          { kind: 'verify' },
          `${to}: the schedule goes on`,
        );
      }
      await clone.commit(10_000);
      t.match(await clone.push(), { code: 0, said: '' }, `${to}: pushes pass`);
      const bytes = await counted(bare);
      await server.usageIs('alice', used => used === bytes);
      t.equal((await server.scan()).state, 'done', `${to}: sweeps end`);
      const ended = await daemon.logged(/^a sweep has ended$/, from);
      t.ok(Math.abs(timeOf(ended) - Date.now() - offsetMs) < dayMs, `${to}: the daemon's clock is set`);
      // Nothing is pushed there, so that no walk that follows a push comes first.
      const kept = await server.usage('bob');
      const delta = { owner: 'bob', subject: 'size:repos:private', delta: 5000 };
      t.equal((await server.ask('trusted', '/v1/changed', { body: delta })).status, 202);
      t.equal(await server.usage('bob'), kept + 5000, `${to}: a report counts`);
      await server.scan();
      t.equal(await server.usage('bob'), kept, `${to}: until the next walk`);
      t.equal(await server.reasons(), '');
    }
    const before = performance.now();
    t.strictSame(await server.stop(), { code: 0, signal: null });
    t.ok(performance.now() - before < 5000);
  },
);
