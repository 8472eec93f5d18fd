/**
 * Two gates with the same to answer from, of which one has `node:http` read all requests: both are asked the
 * same.
 */

import diagnostics from 'node:diagnostics_channel';
import type { Server } from 'node:http';
import { connect } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Test } from 'tap';
import type { LedgerSettings } from '../../src/ledger/index.ts';
import type { Mutated } from './lane-mutations.ts';
import { openWorld, type World } from './world.ts';

export interface Lanes {
  readonly fast: World;
  readonly reference: World;
}

export async function openLanes(
  t: Test,
  settle: (world: World) => Promise<void>,
  settings: Partial<LedgerSettings> = {},
): Promise<Lanes> {
  const worlds = [
    await openWorld(t, settings),
    await openWorld(t, settings, { hasFastLane: false }),
  ] as const;
  for (const world of worlds) await settle(world);
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

export async function compare(
  t: Test,
  { fast, reference }: Lanes,
  { pieces, what }: Mutated,
): Promise<string> {
  const [one, other] = await Promise.all([
    answersTo(fast.sockets.gate, pieces),
    answersTo(reference.sockets.gate, pieces),
  ]);
  if (one !== other) {
    t.equal(one, other, `${what}: ${JSON.stringify(pieces.map(piece => piece.toString('latin1')))}`);
  }
  return one;
}

export function whole(request: string): Mutated {
  return { pieces: [Buffer.from(request, 'latin1')], what: 'whole' };
}

/** How many requests reach `node:http` at a socket from now on. */
export function countHttp(t: Test, socketPath: string): () => number {
  let count = 0;
  // The message of this channel has no type; `server` is documented.
  const started = (message: unknown) => {
    if ((message as { readonly server: Server }).server.address() === socketPath) count += 1;
  };
  diagnostics.subscribe('http.server.request.start', started);
  t.teardown(() => diagnostics.unsubscribe('http.server.request.start', started));
  return () => count;
}

export function sameDeeds(t: Test, { fast, reference }: Lanes): void {
  const deeds = ({ told }: World) =>
    [...told.refused, ...told.letThrough, ...told.measured].map(deed => JSON.stringify(deed)).sort();
  t.strictSame(deeds(fast), deeds(reference), 'both record the same');
  t.strictSame([fast.told.unforeseen, reference.told.unforeseen], [[], []]);
}
