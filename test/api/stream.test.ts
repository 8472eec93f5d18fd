/** Server-sent events: how many follow at a time, and when one who follows is left. */

import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import express from 'express';
import t, { type Test } from 'tap';
import type { EventStream, FollowedEvent } from '../../src/api/route.ts';
import { type StreamLimits, Streams } from '../../src/api/stream.ts';
import { SoftquotaError } from '../../src/errors.ts';
import { until } from '../e2e/ask.ts';

const often: StreamLimits = { most: 64, lookEveryMs: 5, quietMs: 20 };
const quiet: StreamLimits = { most: 64, lookEveryMs: 60_000, quietMs: 60_000 };

interface World {
  readonly streams: Streams;
  readonly port: number;
  /** Those that are told now. */
  readonly told: Set<(event: FollowedEvent) => boolean>;
  /** A follower of it, once there are headers. */
  follow(method?: string): Promise<IncomingMessage>;
  /** Resolves once nobody is told any more. */
  left(): Promise<void>;
}

interface Options {
  readonly limits?: StreamLimits;
  /** Called before a stream is opened. */
  readonly before?: (response: express.Response) => Promise<unknown>;
  readonly stillAllowed?: () => Promise<unknown>;
}

async function openWorld(t: Test, options: Options = {}): Promise<World> {
  const { limits = quiet, before = async () => {}, stillAllowed = async () => {} } = options;
  const streams = new Streams(limits);
  const told: World['told'] = new Set();
  let somebodyLeft = Promise.withResolvers<void>();
  const following: EventStream = {
    follow: send => {
      told.add(send);
      return () => {
        told.delete(send);
        somebodyLeft.resolve();
        somebodyLeft = Promise.withResolvers();
      };
    },
  };
  const app = express();
  app.use(async (request, response) => {
    await before(response);
    streams.open(request, response, following, stillAllowed);
  });
  app.use((error: Error, _: express.Request, response: express.Response, __: express.NextFunction) => {
    response.status(error instanceof SoftquotaError ? error.status : 500).json(error.message);
  });
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  // It listens on an address.
  const { port } = server.address() as AddressInfo;
  return {
    streams,
    port,
    told,
    follow: (method = 'GET') =>
      new Promise((resolve, reject) => {
        const asked = request({ host: '127.0.0.1', port, method, agent: false }, resolve);
        asked.once('error', reject).end();
      }),
    left: async () => {
      while (told.size > 0) await somebodyLeft.promise;
    },
  };
}

function tell({ told }: World, data: unknown): readonly boolean[] {
  return [...told].map(send => send({ event: 'scan', id: 7, data }));
}

async function next(response: IncomingMessage): Promise<string> {
  const [chunk] = await once(response.setEncoding('utf8'), 'data');
  return String(chunk);
}

async function ended(response: IncomingMessage): Promise<string> {
  const chunks: string[] = [];
  for await (const chunk of response.setEncoding('utf8')) chunks.push(String(chunk));
  return chunks.join('');
}

t.test('what is told comes as an event with its name, its id and its data on one line', async t => {
  const world = await openWorld(t);
  const follower = await world.follow();
  t.match(follower, {
    statusCode: 200,
    headers: { 'content-type': /^text\/event-stream/, 'x-accel-buffering': 'no' },
  });
  t.strictSame(tell(world, { path: 'a\nb' }), [true]);
  t.equal(await next(follower), 'event: scan\nid: 7\ndata: {"path":"a\\nb"}\n\n');
});

t.test('a follower who leaves is told nothing more', async t => {
  const world = await openWorld(t);
  const follower = await world.follow();
  follower.destroy();
  await world.left();
  t.equal(world.streams.count, 0);
});

t.test('one who left before it was known who it is, is never told anything', async t => {
  const asked = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  const world = await openWorld(t, {
    before: async response => {
      asked.resolve();
      await once(response, 'close');
      // Once what follows in this turn, which is the opening, is done.
      setImmediate(opened.resolve);
    },
  });
  const follower = connect(world.port, '127.0.0.1');
  follower.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await asked.promise;
  follower.destroy();
  await opened.promise;
  t.equal(world.told.size, 0);
  t.equal(world.streams.count, 0);
});

t.test('only so many follow at a time, and one who leaves makes room', async t => {
  const world = await openWorld(t, { limits: { ...quiet, most: 2 } });
  const [first] = await Promise.all([world.follow(), world.follow()]);
  const third = await world.follow();
  t.equal(third.statusCode, 503);
  t.match(await ended(third), /2 clients already follow/);
  first.destroy();
  await until(() => (world.streams.count === 1 ? true : null));
  t.equal((await world.follow()).statusCode, 200);
});

t.test('for one who does not read nothing is kept, and after a while such a one is left', async t => {
  const world = await openWorld(t, { limits: { ...often, quietMs: 50 } });
  const follower = await world.follow();
  const megabyte = 'x'.repeat(1024 * 1024);
  let taken = 0;
  while (world.told.size > 0) {
    taken += tell(world, megabyte).filter(Boolean).length;
    await nextTurn();
  }
  t.ok(taken < 64, `${taken} MiB fill what systems keep under way`);
  await t.rejects(ended(follower), { code: 'ECONNRESET' });
});

t.test('silence is broken by comments, so that a dead connection is found out', async t => {
  const world = await openWorld(t, { limits: often });
  const follower = await world.follow();
  t.equal(await next(follower), ':\n\n');
});

t.test('whoever may no longer follow is left', async t => {
  let isAllowed = true;
  const world = await openWorld(t, {
    limits: { ...often, quietMs: 60_000 },
    stillAllowed: async () => {
      if (!isAllowed) throw new SoftquotaError('unauthenticated', 'no');
    },
  });
  const follower = await world.follow();
  tell(world, 1);
  isAllowed = false;
  await world.left();
  t.equal(await ended(follower), 'event: scan\nid: 7\ndata: 1\n\n', 'it ends as it should');
});

t.test('closing ends all, and whoever comes later', async t => {
  const world = await openWorld(t);
  const followers = await Promise.all([world.follow(), world.follow()]);
  world.streams.close();
  for (const follower of followers) t.equal(await ended(follower), '');
  t.equal(await ended(await world.follow()), '');
  t.equal(world.told.size, 0);
});

t.test('HEAD gets the headers only', async t => {
  const world = await openWorld(t);
  const answer = await world.follow('HEAD');
  t.match(answer.headers, { 'content-type': /^text\/event-stream/ });
  t.equal(await ended(answer), '');
  t.equal(world.told.size, 0);
});
