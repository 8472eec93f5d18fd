/** Addresses inside are told from those of the public internet. */

import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { isAllowedAddress } from '../../src/notices/webhook.ts';
import { certificateIn } from '../e2e/certificate.ts';
import { must } from '../e2e/run.ts';
import { directoryFor } from '../ledger/world.ts';
import { hookAt, World } from './world.ts';

t.test('only addresses of the public internet are no private ones', async t => {
  for (const address of [
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '127.0.0.1',
    '127.255.255.254',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '198.18.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::ffff:10.0.0.1',
    '::ffff:8.8.8.8',
    '64:ff9b::a00:1',
    'fc00::1',
    'fd12:3456::1',
    'fe80::1',
    'fec0::1',
    'ff02::1',
    '2001:db8::1',
    '2001::1',
    '2002:7f00:1::',
    'not an address',
  ]) {
    t.equal(isAllowedAddress(address, []), false, address);
  }
  for (const address of ['8.8.8.8', '172.32.0.1', '100.128.0.1', '2606:4700::1111', '2a00:1450::1']) {
    t.equal(isAllowedAddress(address, []), true, address);
  }
});

t.test('networks that are named allow their addresses', async t => {
  t.equal(isAllowedAddress('10.1.2.3', ['10.0.0.0/8']), true);
  t.equal(isAllowedAddress('172.16.0.1', ['10.0.0.0/8', '::1']), false);
  t.equal(isAllowedAddress('::1', ['10.0.0.0/8', '::1']), true);
});

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
