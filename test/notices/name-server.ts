/**
 * Posts to a webhook beside a name server that changes its answers; run in a network and a mount namespace of
 * its own: `name-server.ts ADDRESS,ADDRESS…`, the answers in their order, the last one again and again.
 *
 * Out: one line of JSON: what the post came to, to which addresses it came, and how often it was asked for the name.
 */

import { execFileSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { postWebhook } from '../../src/notices/webhook.ts';
import { hookAt } from './world.ts';

const port = 8088;
const [, , list = ''] = process.argv;
const answers = list.split(',');
let asked = 0;

/** The answer to a query for IPv4 addresses; for others there is none. */
function answerTo(query: Buffer): Buffer {
  // The question ends after the name, a zero, its type and its class.
  const end = query.indexOf(0, 12) + 5;
  const isA = query.readUInt16BE(end - 4) === 1;
  const address = answers[Math.min(asked, answers.length - 1)] ?? '';
  if (isA) asked += 1;
  const header = Buffer.from(query.subarray(0, 12));
  header.writeUInt16BE(0x8180, 2);
  header.writeUInt16BE(isA ? 1 : 0, 6);
  header.writeUInt32BE(0, 8);
  const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split('.').map(Number)]);
  return Buffer.concat([header, query.subarray(12, end), ...(isA ? [record] : [])]);
}

const folder = mkdtempSync(join(tmpdir(), 'sq-'));
try {
  execFileSync('ip', ['link', 'set', 'lo', 'up']);
  for (const address of new Set(answers)) {
    if (!address.startsWith('127.')) execFileSync('ip', ['addr', 'add', `${address}/32`, 'dev', 'lo']);
  }
  for (const [name, text] of [
    ['resolv.conf', 'nameserver 127.0.0.1\n'],
    ['nsswitch.conf', 'hosts: dns\n'],
  ] as const) {
    writeFileSync(join(folder, name), text);
    execFileSync('mount', ['--bind', join(folder, name), `/etc/${name}`]);
  }
  const names = createSocket('udp4');
  names.on('message', (query, { port: from, address }) => names.send(answerTo(query), from, address));
  names.bind(53, '127.0.0.1');
  await once(names, 'listening');
  const came: string[] = [];
  const receiver = createServer((request, response) => {
    came.push(request.socket.localAddress ?? '');
    response.end();
  });
  await once(receiver.listen(port, '0.0.0.0'), 'listening');

  const hook = hookAt(`http://hooks.example:${port}/`, { allowPrivate: [] });
  const post = { id: 'n-1', body: '{}', now: Date.now() };
  const fault = await postWebhook(hook, { ...post, signal: AbortSignal.timeout(20_000) });
  // Once the time is over, nothing is looked up.
  await postWebhook(hook, { ...post, signal: AbortSignal.abort() });
  process.stdout.write(`${JSON.stringify({ fault, came, asked })}\n`);
  receiver.close();
  names.close();
} finally {
  execFileSync('sh', ['-c', 'umount /etc/resolv.conf /etc/nsswitch.conf 2>/dev/null; true']);
  rmSync(folder, { recursive: true });
}
