/** Webhooks whose names lead somewhere else the next time, and whose certificates are not trusted. */

import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { certificateIn } from '../e2e/certificate.ts';
import { must } from '../e2e/run.ts';
import { directoryFor } from '../ledger/world.ts';
import { hookAt, World } from './world.ts';

const program = fileURLToPath(new URL('./name-server.ts', import.meta.url));

/** Posts to a name that has these addresses, one after the other, and gives the result. */
async function posted(...answers: readonly string[]): Promise<unknown> {
  // A network and an /etc of its own; the kernel ends both with the program.
  const own = ['--mount', '--net', process.execPath, '--no-warnings', program, answers.join()];
  return JSON.parse(await must('unshare', own));
}

t.test('the address that is connected to is the one that was looked at', async t => {
  const [outside, another, inside] = ['93.184.216.34', '93.184.216.35', '10.0.0.5'];
  t.same(
    await posted(outside, inside),
    { fault: null, came: [outside], asked: 1 },
    'a name server that changes its answer is not asked again',
  );
  t.match(await posted(inside, outside), {
    fault:
      'hooks.example, which is 10.0.0.5: an address inside the own network, and not in [webhook.chat] ALLOW_PRIVATE',
    came: { length: 0 },
  });
  t.match(await posted('127.0.0.1'), { fault: /hooks\.example, which is 127\.0\.0\.1/, came: { length: 0 } });
  t.same(await posted(another), { fault: null, came: [another], asked: 1 });
});

t.test('a receiver whose certificate is not trusted gets nothing', async t => {
  const { key, certificate } = await certificateIn(directoryFor(t));
  const came: string[] = [];
  const server = createServer({ key, cert: certificate }, request => void came.push(request.url ?? ''));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => server.close());
  // A server that listens on an address has one.
  const { port } = server.address() as AddressInfo;
  const world = await World.open(t, { webhooks: [hookAt(`https://127.0.0.1:${port}/`)] });
  t.equal(
    await world.notices.test('chat'),
    `the certificate of 127.0.0.1:${port} is not trusted: self-signed certificate`,
  );
  t.same(came, []);
});
