/**
 * The daemon's memory has an end: four hours of mixed work in fast motion, and the live heap after
 * each.
 *
 * A minute's work is done as quickly as it is answered, then both clocks of the daemon go on by the rest of
 * the minute (libfaketime), so that every timer comes to its turn. The heap is read after all garbage was
 * collected, so the figure is of what is held and of nothing else, on a busy host as on a quiet one.
 */

import { once } from 'node:events';
import t from 'tap';
import { Clone } from '../e2e/clone.ts';
import type { Daemon } from '../e2e/daemon.ts';
import { Server } from '../e2e/server.ts';
import { WallClock } from '../e2e/wall-clock.ts';
import { isLong } from '../run-length.ts';
import { MixedLoad } from './mixed-load.ts';

const minutes = isLong ? 240 : 4;
/** Between two looks at the heap. */
const apart = isLong ? 10 : 1;
/**
 * The bytes that the second half of the time may add: some lists are still filling up to their bounds in a
 * short run.
 */
const mostGrowthBytes = isLong ? 1_000_000 : 4_000_000;

t.setTimeout(isLong ? 7_200_000 : 300_000);

/** Bytes in the heap of the main thread after all garbage was collected, by Node's inspector. */
async function liveBytes({ written }: Daemon): Promise<number> {
  const [address = ''] = written.flatMap(line => /^Debugger listening on (ws:\S+)$/.exec(line)?.[1] ?? []);
  const socket = new WebSocket(address);
  await once(socket, 'open');
  const ask = async (method: string) => {
    socket.send(JSON.stringify({ id: 1, method }));
    const [{ data }] = await once(socket, 'message');
    return JSON.parse(String(data)).result;
  };
  await ask('HeapProfiler.collectGarbage');
  const { usedSize } = await ask('Runtime.getHeapUsage');
  socket.close();
  return Number(usedSize);
}

t.test(`the live heap levels off in ${minutes} minutes of mixed work`, async t => {
  const server = await Server.open(t, {
    ini: {
      server: { TRUSTED_PROXIES: '127.0.0.1' },
      scan: { SCHEDULE: '*/15 * * * *' },
      'quota.default': { TOTAL: '100k' },
    },
    repositories: ['alice/app', 'bob/app'],
    started: false,
  });
  const clock = await WallClock.open(server.folder);
  const { FAKETIME_DONT_FAKE_MONOTONIC: _, ...bothClocks } = clock.env;
  const daemon = await server.start({
    env: { ...bothClocks, NODE_OPTIONS: '--inspect=127.0.0.1:0' },
  });
  const over = await Clone.of(server, server.path('bob/app'));
  await over.commit(200_000);
  await over.push();
  await server.usageIs('bob', used => used > 200_000);

  const load = await MixedLoad.on(server);
  const live: number[] = [];
  for (let minute = 1; minute <= minutes; minute += 1) {
    await load.minute();
    await clock.setBy(`+${minute * 60}`);
    if (minute % apart !== 0) continue;
    const bytes = await liveBytes(daemon);
    live.push(bytes);
    t.comment(`after ${minute} minutes: ${(bytes / 1e6).toFixed(2)} MB`);
  }
  load.close();

  const mean = (figures: readonly number[]) => figures.reduce((sum, each) => sum + each, 0) / figures.length;
  const quarter = live.length / 4;
  const grown = mean(live.slice(-quarter)) - mean(live.slice(live.length / 2, live.length / 2 + quarter));
  t.comment(`answers by status: ${JSON.stringify(Object.fromEntries(load.answered))}`);
  t.ok(grown < mostGrowthBytes, `${Math.round(grown)} bytes from the third quarter to the last`);
  t.notOk(load.answered.has(500), 'and no mistake was made');
});
