import t from 'tap';
import { Around } from '../../src/scan/around.ts';
import { IoWorkers } from '../../src/scan/io-workers.ts';
import { hangs } from './hanging.ts';

t.test('who was stopped and asks once more has no thread started for it', async t => {
  const started: unknown[] = [];
  const count = (thread: unknown) => started.push(thread);
  process.on('worker', count);
  t.teardown(() => process.off('worker', count));
  const ioWorkers = new IoWorkers();
  t.teardown(() => ioWorkers.close(60_000));
  const around = new Around({ ioWorkers, hangs: hangs(), hungAfterMs: 60_000 });
  const question = { ask: 'absent', paths: [] } as const;
  t.strictSame(await around.ask(question), []);
  around.close();
  await t.rejects(around.ask(question), { code: 'internal', message: 'asking has ended' });
  t.equal(started.length, 1);
});
