/** Exchanges over a connection: every question gets an answer, and nothing runs that nobody waits for. */

import { once } from 'node:events';
import { createServer, type Socket, connect as toSocket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Exchange, type ExchangeHandlers, type Fields } from '../../src/bounded/index.ts';
import { until } from '../e2e/ask.ts';

/** Two ends of one connection. */
async function pair(t: Test): Promise<readonly [Socket, Socket]> {
  const path = join(tmpdir(), `sq-${process.pid}-${Math.random()}.sock`);
  const server = createServer().listen(path);
  await once(server, 'listening');
  const one = toSocket(path);
  const [other] = await once(server, 'connection');
  t.teardown(() => {
    one.destroy();
    other.destroy();
    server.close();
  });
  return [one, other];
}

async function open(t: Test, handlers: Partial<ExchangeHandlers> = {}) {
  const [one, other] = await pair(t);
  const ends = { count: 0 };
  const messages: Fields[] = [];
  const asking = new Exchange(one, { other: 'the worker', mostTaken: 10_000, mostSent: 5000 });
  asking.serve({ answer: async () => ({}), take: () => {}, ended: () => void ends.count++ }, Buffer.alloc(0));
  const answering = new Exchange(other, { other: 'the daemon', mostTaken: 5000, mostSent: 10_000 });
  answering.serve(
    { answer: async () => ({}), take: message => void messages.push(message), ended: () => {}, ...handlers },
    Buffer.from('{"early":true}\n'),
  );
  return { asking, answering, other, messages, ends };
}

t.test('questions and messages go both ways, in order', async t => {
  const { asking, answering, messages } = await open(t, {
    answer: async ({ kind, text }) => {
      if (kind === 'fault') throw new Error('it cannot be done');
      return kind === 'long' ? { text: 'x'.repeat(10_000) } : { text };
    },
  });
  asking.send({ report: 1 });
  t.same(await asking.ask({ kind: 'echo', text: 'a\nb' }, 60_000), { text: 'a\nb' });
  t.same(messages, [{ early: true }, { report: 1 }]);
  await t.rejects(asking.ask({ kind: 'fault' }, 60_000), { code: 'not_ready', message: 'it cannot be done' });
  await t.rejects(asking.ask({ kind: 'long' }, 60_000), { message: 'the answer is too long' });
  await t.rejects(asking.ask({ text: 'x'.repeat(5000) }, 60_000), { message: /cannot be asked/ });
  t.notOk(asking.send({ report: 'x'.repeat(5000) }), 'the other side takes no longer line');
  t.same(await answering.ask({ kind: 'any' }, 60_000), {});
});

t.test('a question ends with its time, its signal and the connection, and so does what it began', async t => {
  const signals: AbortSignal[] = [];
  const { asking, answering, ends } = await open(t, {
    answer: async (_, signal) => {
      signals.push(signal);
      if (!signal.aborted) await once(signal, 'abort');
      throw new Error('ended');
    },
  });
  // The times of questions keep nothing running.
  const running = setInterval(() => {}, 60_000);
  t.teardown(() => clearInterval(running));
  await t.rejects(asking.ask({}, 1), { code: 'not_ready', message: 'the worker did not answer in time' });
  const stop = new AbortController();
  const second = t.rejects(asking.ask({}, 60_000, stop.signal), { message: /nobody waits/ });
  stop.abort();
  await second;
  await t.rejects(asking.ask({}, 60_000, stop.signal), { message: /nobody waits/ });
  await until(async () => (signals.length === 2 && signals.every(({ aborted }) => aborted) ? true : null));
  await answering.idle();
  const many = Array.from({ length: 1000 }, () => asking.ask({}, 60_000));
  await t.rejects(asking.ask({}, 60_000), { message: 'the worker has too much to do; ask again later' });
  answering.close('another has connected');
  for (const each of await Promise.allSettled(many))
    t.match(each, { status: 'rejected', reason: { message: 'the worker has stopped' } });
  t.equal(ends.count, 1);
  t.ok(signals.every(({ aborted }) => aborted));
  await answering.idle();
  await t.rejects(asking.ask({}, 60_000), { message: /cannot be asked/ });
});

t.test('a side that is not understood is told why, and what was asked has failed', async t => {
  for (const [line, why] of [
    ['no JSON', /another version: a line that is not JSON/],
    ['5', /another version: a line is not as expected/],
    ['{"result":{"id":"x","value":5}}', /another version: result\.value is not as expected/],
    ['x'.repeat(10_001), /more than 10000 bytes/],
  ] as const) {
    const { asking, other, messages } = await open(t, { answer: () => new Promise(() => {}) });
    const asked = t.rejects(asking.ask({}, 60_000), { message: why });
    other.write(`${line}\n`);
    await asked;
    await until(async () => (messages.length === 2 ? true : null));
    t.match(messages[1], { refused: why });
  }
});
