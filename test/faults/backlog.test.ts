/** A daemon that stops while many ask: whoever got a connection gets an answer. */

import { connect } from 'node:net';
import t from 'tap';
import { systemCode } from '../../src/errors.ts';
import { Server } from '../e2e/server.ts';
import { isLong } from '../run-length.ts';

const stops = isLong ? 50 : 3;
const askers = 40;
t.setTimeout(600_000);

type Fate = 'answered' | 'nobody there' | string;

/**
 * One connection with one question, as a hook makes it. Whatever is not an answer once there was a connection
 * is told.
 */
function askOnce(path: string): Promise<Fate> {
  return new Promise(resolve => {
    let isConnected = false;
    let received = '';
    const socket = connect(path, () => {
      isConnected = true;
      socket.write(
        'GET /v1/check?owner=alice&subject=size:all HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
      );
    });
    socket.on('data', chunk => {
      received += String(chunk);
    });
    socket.on('error', error => {
      const code = systemCode(error) ?? error.message;
      const isNobody = ['ENOENT', 'ECONNREFUSED', 'EAGAIN'].includes(code);
      resolve(!isConnected && isNobody ? 'nobody there' : `${code} after ${received.length} bytes`);
    });
    socket.on('close', () =>
      resolve(/^HTTP\/1\.1 200 [\s\S]*\r\n\r\n\{.*\}$/.test(received) ? 'answered' : `ended: "${received}"`),
    );
  });
}

t.test(`in ${stops} stops under load nobody who had connected goes without an answer`, async t => {
  const server = await Server.open(t, { started: false });
  const fates = new Map<Fate, number>();
  for (let stop = 0; stop < stops; stop++) {
    await server.start();
    let isOver = false;
    let answered = 0;
    const busy = Promise.withResolvers<void>();
    const loads = Array.from({ length: askers }, async () => {
      while (!isOver) {
        const fate = await askOnce(server.socket('gate'));
        fates.set(fate, (fates.get(fate) ?? 0) + 1);
        if (fate === 'nobody there') return;
        if (++answered === askers * 5) busy.resolve();
      }
    });
    await busy.promise;
    t.strictSame(await server.stop('SIGTERM'), { code: 0, signal: null });
    isOver = true;
    await Promise.all(loads);
  }
  t.comment(Object.fromEntries(fates));
  t.strictSame(
    [...fates.keys()].filter(fate => fate !== 'answered' && fate !== 'nobody there'),
    [],
  );
  t.ok((fates.get('answered') ?? 0) >= stops * askers * 5);
});
