/** A daemon that stops. */

import { mock } from 'node:test';
import t from 'tap';
import { Daemon } from '../../src/daemon/index.ts';
import { Identity } from '../../src/identity/index.ts';
import { Ledger } from '../../src/ledger/index.ts';
import { Notices } from '../../src/notices/index.ts';
import { createLogger } from '../../src/service/index.ts';
import { configOf } from '../config/written.ts';
import { temporaryFolder } from '../temporary-folder.ts';

t.test('parts that cannot be closed keep no other one open, and each is in the log', async t => {
  const folder = temporaryFolder(t);
  const config = configOf(t, `[server]\nDATA_PATH = ${folder}/data\nHTTP_PORT = 0\n`);
  const { log } = createLogger({ level: 'fatal', format: 'json' });
  const errors = mock.method(log, 'error', () => {});
  const daemon = await Daemon.start({ config, env: {}, log });
  const notices = mock.method(Notices.prototype, 'close', async () => {
    throw new Error('the notices cannot be closed');
  });
  mock.method(Identity.prototype, 'close', async () => {
    throw new Error('nor can the sessions');
  });
  const ledger = mock.method(Ledger.prototype, 'close');
  await t.rejects(daemon.stop(), { message: 'the notices cannot be closed' });
  const logged = errors.mock.calls.map(({ arguments: [fields] }) => String(Object(fields).err?.message));
  t.strictSame(logged, ['the notices cannot be closed', 'nor can the sessions']);
  t.equal(notices.mock.callCount(), 1);
  t.equal(ledger.mock.callCount(), 1);
  await ledger.mock.calls[0]?.result;
});
