/** SIGTERM, whatever is under way. */

import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { Server } from '../e2e/server.ts';

t.test('SIGTERM ends a daemon that walks and answers within five seconds, and with 0', async t => {
  const server = await Server.open(t, { started: false });
  const store = join(server.folder, 'lfs', 'alice');
  for (let n = 0; n < 60; n++) {
    const folder = join(store, `${n}`);
    await mkdir(folder, { recursive: true });
    await Promise.all(Array.from({ length: 200 }, (_, file) => writeFile(join(folder, `${file}`), '')));
  }
  const daemon = await server.start();
  // One who asks half a question, one who keeps a connection, and one who follows the scans.
  const half = connect(server.socket('gate'));
  await once(half, 'connect');
  half.write('POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nowner=');
  const kept = connect(server.socket('gate'));
  kept.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
  await once(kept, 'data');
  for (const socket of [half, kept]) socket.on('error', () => {});
  const scans = server.scan({ kind: 'verify' }).catch((error: unknown) => error);
  const asked = Array.from({ length: 200 }, () =>
    server.ask('gate', '/v1/check?owner=alice&subject=size:all'),
  );
  const answered = Promise.allSettled(asked);
  await daemon.logged(line => line.msg === 'a sweep begins' && line.kind === 'verify');

  const before = performance.now();
  t.strictSame(await server.stop('SIGTERM'), { code: 0, signal: null });
  const elapsedMs = performance.now() - before;
  t.ok(elapsedMs < 5000, `${Math.round(elapsedMs)} ms`);
  await scans;
  const fates = await answered;
  const odd = fates.filter(fate => fate.status === 'fulfilled' && fate.value.status !== 200);
  t.strictSame(odd, [], 'who was answered was answered well');
  t.ok(daemon.lines.some(({ msg }) => msg === 'softquota has stopped'));
  half.destroy();
  kept.destroy();
  await server.start({ ready: false });
});

t.test('SIGINT ends it too', async t => {
  const server = await Server.open(t);
  t.strictSame(await server.stop('SIGINT'), { code: 0, signal: null });
});
