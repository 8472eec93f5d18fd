/**
 * Claims: with 100,000 owners an hour is recorded without holding up anything, and a day of an owner takes
 * some tens of bytes; what the overview sums up is there at once.
 */

import { statSync } from 'node:fs';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Ledger } from '../src/ledger/index.ts';
import { History, Totals } from '../src/overview/index.ts';
import { type HistoryStore, openStore } from '../src/store/index.ts';
import { settings } from '../test/ledger/world.ts';
import { alone, count, milliseconds, print, spread, tell } from './figures.ts';
import { makeGround, numbers } from './ground.ts';

const owners = 100_000;
const changedEach = owners / 20;
const hours = 24;
const overviews = 20;
const hourMs = 3_600_000;
const begin = Date.parse('2026-11-01T00:30:00Z');
/** Other writes are tried so often while an hour is recorded. */
const writeEveryMs = 5;

const log = { error: console.error, warn: console.error, info: () => {} };
const random = numbers();
const file = join(makeGround(), 'softquota.db');
const clock = { wallMs: begin, wall: () => clock.wallMs, monotonic: () => performance.now() };

const store = await openStore({ file });
await fill(store);
const ledger = await Ledger.open({
  store,
  host: 'bench',
  settings: { ...settings, totalBytes: 5e9 },
  foldCase: true,
  log,
  clock,
});
const totals = new Totals({ ledger, log });
totals.start();
const firstLook = await took(() => totals.settled());
tell(`all are added up: ${milliseconds(firstLook)}`);

const blocks: number[] = [];
const first = await recorded();
const before = await sizeOnDisk();
const times: number[] = [];
const waits: number[] = [];
for (let hour = 0; hour < hours; hour++) {
  for (let each = 0; each < changedEach; each++) walk(random(owners));
  clock.wallMs += hourMs;
  const hourly = await recorded();
  times.push(hourly.ms);
  waits.push(hourly.longestWriteMs);
  blocks.push(hourly.longestBlockMs);
}
tell(`an hour: ${spread(times, milliseconds)}`);
const rowBytes = ((await sizeOnDisk()) - before) / (hours * changedEach);

const looks: number[] = [];
for (let each = 0; each < overviews; each++) {
  walk(random(owners));
  looks.push(await took(() => totals.settled()));
}
await totals.close();
await ledger.close();

const slowest = Math.max(...looks);
print({
  title: 'The usage history',
  how: `${count(owners)} owners, each with one repository, of whom ${count(changedEach)} have become others in each of ${hours} hours. The store's file is that of a daemon; another write was tried all the time while an hour was recorded.`,
  figures: [
    alone('an hour recorded', spread(times, milliseconds)),
    alone('the first hour, with all owners', milliseconds(first.ms)),
    alone('the longest that another write waited meanwhile', spread(waits, milliseconds)),
    alone('the longest that the event loop was held', spread(blocks, milliseconds)),
    alone('of an owner in the store, for each hour or day with a change', `${rowBytes.toFixed(1)} bytes`),
    alone('all owners added up for the first time', milliseconds(firstLook)),
    alone('the sums after a change', spread(looks, milliseconds), {
      words: 'under 20 ms',
      met: slowest < 20,
      reason: 'the host had other work meanwhile.',
    }),
  ],
});

async function fill(to: Awaited<ReturnType<typeof openStore>>): Promise<void> {
  for (let from = 0; from < owners; from += 5000) {
    const some = Array.from({ length: 5000 }, (_, index) => from + index);
    await to.write({
      owners: some.map(n => ({
        id: 2 ** 40 + n * 997,
        key: nameOf(n),
        name: nameOf(n),
        type: 'user',
        since: 0,
      })),
      units: some.map(n => ({
        ...walkedNow(n, n),
        id: pathOf(n),
        name: pathOf(n),
        kind: 'walked',
        host: 'bench',
      })),
    });
  }
  await to.write({ sweep: { startedAt: 0, finishedAt: 1, units: owners } });
}

function walk(n: number): void {
  ledger.walks.record({ ...walkedNow(n, ledger.walks.nextSeq()), path: pathOf(n) });
}

function walkedNow(n: number, seq: number) {
  const bytes = random(5e9);
  return {
    owner: nameOf(n),
    leaf: 'size:repos:private' as const,
    bytes,
    files: 9,
    partial: false,
    measuredAt: 0,
    seq,
  };
}

function nameOf(n: number): string {
  return `owner-${n}`;
}

function pathOf(n: number): string {
  return `/srv/git/${nameOf(n)}/repository.git`;
}

async function took(act: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await act();
  return performance.now() - began;
}

/** Records the hour that it is, and writes other things all the while. */
async function recorded() {
  await ledger.kept();
  const ended = Promise.withResolvers<void>();
  const watched: HistoryStore = {
    recordOwners: (hour, some) => store.recordOwners(hour, some),
    recordHour: async record => {
      await store.recordHour(record);
      ended.resolve();
    },
    history: query => store.history(query),
    thinHistory: async () => [],
    forgetHistory: ids => store.forgetHistory(ids),
  };
  const history = new History({
    store: watched,
    owners: ledger.documents.owners,
    totals,
    log,
    now: () => clock.wallMs,
  });
  const delays = monitorEventLoopDelay({ resolution: 1 });
  let longestWriteMs = 0;
  let isOver = false;
  const writing = (async () => {
    while (!isOver) {
      const wait = await took(() => store.write({ sweep: { startedAt: 0, finishedAt: 1, units: owners } }));
      longestWriteMs = Math.max(longestWriteMs, wait);
      await new Promise(resolve => setTimeout(resolve, writeEveryMs));
    }
  })();
  delays.enable();
  const ms = await took(async () => {
    history.start(Promise.resolve());
    await ended.promise;
  });
  delays.disable();
  isOver = true;
  await Promise.all([writing, history.close()]);
  return { ms, longestWriteMs, longestBlockMs: delays.max / 1e6 };
}

/** Returns the size of the store, without its log. */
async function sizeOnDisk(): Promise<number> {
  await store.write({});
  const { size } = statSync(file);
  return size;
}
