import t from 'tap';
import { Around } from '../../src/scan/around.ts';
import { IoWorkers } from '../../src/scan/io-workers.ts';
import { hangs } from './hanging.ts';
import { startedThreads } from './threads.ts';

t.test('who was stopped and asks once more has no thread started for it', async t => {
  const started = startedThreads(t);
  const ioWorkers = new IoWorkers();
  t.teardown(() => ioWorkers.close(60_000));
  const around = new Around({ ioWorkers, hangs: hangs(), hungAfterMs: 60_000 });
  const question = { ask: 'absent', paths: [] } as const;
  t.strictSame(await around.ask(question), []);
  around.close();
  await t.rejects(around.ask(question), { code: 'internal', message: 'asking has ended' });
  t.equal(started.length, 1);
});
