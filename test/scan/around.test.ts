import t from 'tap';
import { Around } from '../../src/scan/around.ts';
import { openWorkerClient, type WorkerClient } from '../../src/scan/worker-client.ts';
import { hangs } from './hanging.ts';

t.test('who was stopped and asks once more has no thread started for it', async t => {
  const opened: WorkerClient[] = [];
  const around = new Around({
    openWorkerClient: () => {
      const client = openWorkerClient('survey');
      opened.push(client);
      return client;
    },
    hangs: hangs(),
    hungAfterMs: 60_000,
  });
  t.teardown(() => Promise.all(opened.map(client => client.close(60_000))));
  const question = { ask: 'absent', paths: [] } as const;
  t.strictSame(await around.ask(question), []);
  around.close();
  await t.rejects(around.ask(question), { code: 'internal', message: 'asking has ended' });
  t.equal(opened.length, 1);
  await opened[0]?.ended;
});
