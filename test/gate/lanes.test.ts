/**
 * The fast lane and `node:http` answer the same bytes to the same bytes: recorded questions, questions in
 * every form that clients send, and mutated ones, many at a time and in pieces.
 *
 * The mutations come from a seed that is printed; `SOFTQUOTA_SEED` plays the same ones again.
 */

import diagnostics from 'node:diagnostics_channel';
import type { Server } from 'node:http';
import { connect } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { isCut, type Mutated, mutations } from './lane-mutations.ts';
import { clientForms, decisionCases, otherRequests, settleCases } from './lane-questions.ts';
import { openWorld, type World } from './world.ts';

const isLong = process.env.SOFTQUOTA_LONG === '1';
const most = isLong ? 100_000 : 5000;
const seed = Number(process.env.SOFTQUOTA_SEED ?? 14);
const atATime = 16;

t.setTimeout(isLong ? 3_600_000 : 240_000);

interface Lanes {
  readonly fast: World;
  readonly reference: World;
}

async function openLanes(t: Test): Promise<Lanes> {
  const worlds = [await openWorld(t), await openWorld(t, {}, { hasFastLane: false })] as const;
  for (const world of worlds) await settleCases(world);
  return { fast: worlds[0], reference: worlds[1] };
}

/** Sends the pieces one after the other, ends, and gives all that comes back but for the time. */
async function answersTo(socketPath: string, pieces: readonly Buffer[]): Promise<string> {
  const socket = connect({ path: socketPath, allowHalfOpen: true });
  const chunks: Buffer[] = [];
  const closed = new Promise(resolve => socket.once('close', resolve));
  socket.on('data', chunk => chunks.push(chunk));
  socket.on('end', () => socket.end());
  // The gate may end the connection while there is still something to send.
  socket.on('error', () => {});
  for (const [index, piece] of pieces.entries()) {
    if (index > 0) await nextTurn();
    socket.write(piece);
  }
  socket.end();
  await closed;
  return Buffer.concat(chunks)
    .toString('latin1')
    .replace(
      /\r\nDate: [A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT\r\n/g,
      '\r\nDate: now\r\n',
    );
}

async function compare(t: Test, { fast, reference }: Lanes, { pieces, what }: Mutated): Promise<string> {
  const [one, other] = await Promise.all([
    answersTo(fast.sockets.gate, pieces),
    answersTo(reference.sockets.gate, pieces),
  ]);
  if (one !== other) {
    t.equal(one, other, `${what}: ${JSON.stringify(pieces.map(piece => piece.toString('latin1')))}`);
  }
  return one;
}

function whole(request: string): Mutated {
  return { pieces: [Buffer.from(request, 'latin1')], what: 'whole' };
}

/** How many requests reach `node:http` at a socket from now on. */
function countHttp(t: Test, socketPath: string): () => number {
  let count = 0;
  // The message of this channel has no type; `server` is documented.
  const started = (message: unknown) => {
    if ((message as { readonly server: Server }).server.address() === socketPath) count += 1;
  };
  diagnostics.subscribe('http.server.request.start', started);
  t.teardown(() => diagnostics.unsubscribe('http.server.request.start', started));
  return () => count;
}

function sameDeeds(t: Test, { fast, reference }: Lanes): void {
  const deeds = ({ told }: World) =>
    [...told.refused, ...told.letThrough, ...told.measured, ...told.offlineDecisions]
      .map(deed => JSON.stringify(deed))
      .sort();
  t.strictSame(deeds(fast), deeds(reference), 'both record the same');
  t.strictSame([fast.told.unforeseen, reference.told.unforeseen], [[], []]);
}

t.test('plain questions are answered alike, and only the reference reads them by node:http', async t => {
  const lanes = await openLanes(t);
  const reached = countHttp(t, lanes.fast.sockets.gate);
  let decided = 0;
  for (const [index, query] of decisionCases.entries()) {
    const form = clientForms[index % clientForms.length] ?? clientForms[0];
    const received = await compare(t, lanes, whole(form(query)));
    if (/^HTTP\/1\.1 (200|413) [\s\S]*\r\nX-Softquota-Decision: /.test(received)) decided += 1;
  }
  t.equal(decided, decisionCases.length);
  t.equal(reached(), 0);
  sameDeeds(t, lanes);
});

t.test('requests in any other form are answered alike, and by node:http', async t => {
  const lanes = await openLanes(t);
  const reached = countHttp(t, lanes.fast.sockets.gate);
  for (const request of otherRequests) await compare(t, lanes, whole(request));
  t.ok(reached() > 0);
  sameDeeds(t, lanes);
});

t.test('a question is answered alike wherever it is cut in two, and whatever comes behind it', async t => {
  const lanes = await openLanes(t);
  const [form] = clientForms;
  const question = form('path=/srv/git/alice/app.git&actor=bob');
  for (const behind of ['', question, 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n', '\r\n', 'X']) {
    const bytes = Buffer.from(question + behind, 'latin1');
    for (let at = 1; at < bytes.length; at++) {
      const pieces = [bytes.subarray(0, at), bytes.subarray(at)];
      await compare(t, lanes, { pieces, what: `cut at ${at}` });
    }
  }
  sameDeeds(t, lanes);
});

t.test(`${most} mutated batches of questions are answered alike`, async t => {
  t.comment(`SOFTQUOTA_SEED=${seed}`);
  const lanes = await openLanes(t);
  const reached = countHttp(t, lanes.fast.sockets.gate);
  const all = mutations(seed, most);
  let cut = 0;
  await Promise.all(
    Array.from({ length: atATime }, async () => {
      for (const mutated of all) {
        if (isCut(mutated)) cut += 1;
        await compare(t, lanes, mutated);
      }
    }),
  );
  t.comment(`${reached()} requests reached node:http; ${cut} batches came in pieces`);
  t.ok(reached() > 0 && cut > 0);
  sameDeeds(t, lanes);
});
