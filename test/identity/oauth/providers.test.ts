/** Providers that cannot be used are remembered for a time. */

import t from 'tap';
import { createSource, SignInFlow, secretKeysOf } from '../../../src/identity/index.ts';
import { silentLog } from '../../ledger/world.ts';
import { world } from '../session-world.ts';
import { hostileProvider } from './hostile-provider.ts';

const awayMs = 5000;
const hourMs = 3_600_000;

t.test('a failure is remembered for five seconds, also if the clock is set back meanwhile', async t => {
  const provider = await hostileProvider(t);
  const { ledger } = await world(t);
  const keys = secretKeysOf(['k'.repeat(40)]);
  const { id } = await ledger.documents.transact(({ changes }) =>
    createSource(
      changes,
      { name: 'company', discoveryUrl: provider.issuer, clientId: provider.client.id },
      { keys, now: 0 },
    ),
  );
  let wall = Date.now();
  let passed = 0;
  const monotonic = performance.now.bind(performance);
  t.intercept(performance, 'now', { value: () => monotonic() + passed });
  const flow = new SignInFlow({
    documents: ledger.documents,
    keys,
    log: silentLog,
    baseUrl: () => 'https://git.example/',
    now: () => wall,
  });
  const begin = () => flow.begin(String(id), null, undefined);
  provider.lies = { discovery: { issuer: 'https://login.example' } };
  await t.rejects(begin(), { code: 'misconfigured' });
  provider.lies = {};
  wall -= hourMs;
  await t.rejects(begin(), { code: 'misconfigured' });
  passed += awayMs;
  t.ok((await begin()).location.startsWith(`${provider.issuer}/`));
});
