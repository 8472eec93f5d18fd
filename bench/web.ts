/**
 * Claims: a browser that was never there loads less than 150 kB until it shows a list of 100,000 owners, and
 * the list answers a keystroke in under 200 ms.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { type OwnerRow, ownerRow } from '../src/wire/index.ts';
import { Browser } from '../test/e2e/browser.ts';
import { Browsing, type Drawing, type FirstLoad, signInLinkOf } from './browsing.ts';
import { startDaemon, startServer } from './daemon.ts';
import {
  alone,
  count,
  type Figure,
  median,
  milliseconds,
  percentile,
  print,
  ratioOf,
  spread,
  tell,
} from './figures.ts';
import { makeGround, writeConfig } from './ground.ts';
import { makeStore, size } from './policy-store.ts';
import { timed } from './processes.ts';
import { adminAnswers, agent, answerOf, msOf, settled } from './questions.ts';

const loads = 7;
/**
 * Typed key by key, each in place of the one before: parts of names that some 40,000 owners have, down to
 * some ten.
 */
const searches = ['4711', '8080', '1234', '3000', '0815', '2718', '5772', '6174', '7091', '9603'];
const clickRounds = 3;
/** Between two, so that nothing is left over of the one before. */
const restMs = 300;
const shown = 50;
const goals = { bytes: 150_000, keyMs: 200 };

const directory = makeGround();
const config = writeConfig(directory, '');
await timed(fileURLToPath(new URL('../scripts/build', import.meta.url)), []);
tell(`a store of ${count(size.owners)} owners is made`);
await makeStore(directory, config);
const daemon = await startDaemon(config);
const admin = await adminAnswers(daemon);
await settled(daemon);
const rows = await allRows();
const rowsFile = join(directory, 'rows.json');
writeFileSync(rowsFile, JSON.stringify(rows));
const rowsSocket = join(directory, 'rows.sock');
const rowsServer = fileURLToPath(new URL('./all-rows-server.ts', import.meta.url));
const plain = await startServer([rowsServer, rowsSocket, rowsFile], rowsSocket, '/');

const ended: (() => unknown)[] = [];
const browser = await Browser.open({ teardown: end => ended.unshift(end) });
const [ours, theirs] = [await tab(), await tab()];
const link = await signInLinkOf(admin, 'administrator');
const ourUrl = new URL('owners', link).href;
const theirUrl = (await answerOf(rowsSocket, '/')).text;

const measured = await measure().finally(async () => {
  for (const end of ended) await end();
});
await Promise.all([daemon.stop(), plain.stop()]);
agent.destroy();
report(measured);

async function measure() {
  await ours.page.goto(link);
  await ours.page.waitForFunction('!location.pathname.endsWith("sign-in")');
  const loaded = await loading();
  const typed = await typing();
  const heaps = { ours: [await ours.heapMb()], theirs: [await theirs.heapMb()] };
  const turned = await clicking(
    'page',
    [2, 3, 4, 5, 6].map(page => ({ button: '.pager button:last-of-type', query: `page=${page}` })),
  );
  const sorted = await clicking('order', [
    { button: sortButton('Stored'), query: 'sort=total&order=asc' },
    { button: sortButton('Owner'), query: 'sort=name&order=asc' },
    { button: sortButton('Owner'), query: 'sort=name&order=desc' },
    { button: sortButton('% of limit'), query: 'sort=percent&order=desc' },
  ]);
  const answered: number[] = [];
  for (const search of searches) {
    answered.push(await msOf(admin, `/api/v1/admin/quota/usage?q=${search.slice(0, 2)}`));
  }
  return { loaded, typed, heaps, turned, sorted, answered };
}

/** Largest first. */
async function allRows(): Promise<readonly OwnerRow[]> {
  const found: OwnerRow[] = [];
  for (let page = 1; ; page++) {
    const next = await rowsOf(`sort=total&limit=1000&page=${page}`);
    if (next.length === 0) return found;
    found.push(...next);
  }
}

async function rowsOf(query: string): Promise<readonly OwnerRow[]> {
  const { text } = await answerOf(admin, `/api/v1/admin/quota/usage?${query}`);
  return z.array(ownerRow).parse(JSON.parse(text));
}

async function tab(): Promise<Browsing> {
  return Browsing.of((await browser.tab()).page);
}

async function loading() {
  const both = { ours: [] as FirstLoad[], theirs: [] as FirstLoad[] };
  for (let round = -1; round < loads; round++) {
    const each = [await ours.firstLoad(ourUrl), await theirs.firstLoad(theirUrl)] as const;
    if (round < 0) continue; // both servers are warm then
    both.ours.push(each[0]);
    both.theirs.push(each[1]);
  }
  return both;
}

async function typing() {
  const both = { ours: [] as Drawing[], theirs: [] as Drawing[] };
  for (const search of searches) {
    both.ours.push(...(await typedInto(ours, search)));
    both.theirs.push(...(await typedInto(theirs, search)));
  }
  const shownMs = (drawings: readonly Drawing[]) =>
    spread(
      drawings.map(({ drawnMs }) => drawnMs),
      milliseconds,
    );
  tell(`keys: ${shownMs(both.ours)}, all rows in the page ${shownMs(both.theirs)}`);
  return both;
}

async function typedInto(browsing: Browsing, search: string): Promise<readonly Drawing[]> {
  const { page } = browsing;
  await page.bringToFront();
  await page.evaluate(
    `(field => (field.focus(), field.select()))(document.querySelector('input[type=search]'))`,
  );
  const drawings: Drawing[] = [];
  for (const [index, key] of [...search].entries()) {
    const wanted = search.slice(0, index + 1);
    const names = rows.filter(({ name }) => name.includes(wanted)).map(({ name }) => name);
    await delay(restMs);
    drawings.push(await browsing.untilDrawn('keydown', names.slice(0, shown), () => page.keyboard.type(key)));
  }
  return drawings;
}

interface Click {
  /** A selector of what is clicked. */
  readonly button: string;
  /** Query of the rows that appear then. */
  readonly query: string;
}

function sortButton(title: string): string {
  return `thead ::-p-text(${title})`;
}

/** In our page, from its beginning each time, so that no answer is there yet. */
async function clicking(what: string, clicks: readonly Click[]): Promise<readonly number[]> {
  const times: number[] = [];
  for (let round = 0; round < clickRounds; round++) {
    await ours.firstLoad(ourUrl);
    for (const { button, query } of clicks) {
      const names = (await rowsOf(query)).map(({ name }) => name);
      await delay(restMs);
      const { drawnMs } = await ours.untilDrawn('click', names, () => ours.page.click(button));
      times.push(drawnMs);
    }
  }
  tell(`another ${what}: ${spread(times, milliseconds)}`);
  return times;
}

/** Figures of both sides, round by round. */
interface Both<Value> {
  readonly ours: readonly Value[];
  readonly theirs: readonly Value[];
}

function by<Value>(both: Both<Value>, read: (value: Value) => number): Both<number> {
  return { ours: both.ours.map(read), theirs: both.theirs.map(read) };
}

function report({ loaded, typed, heaps, turned, sorted, answered }: Awaited<ReturnType<typeof measure>>) {
  const kilobytes = (bytes: number) => `${(bytes / 1000).toFixed(1)} kB`;
  const typical = (shown: (value: number) => string) => (values: readonly number[]) => shown(median(values));
  const spreadMs = (values: readonly number[]) => spread(values, milliseconds);
  const slowest = (values: readonly number[]) =>
    [median(values), percentile(values, 95), Math.max(...values)].map(milliseconds).join(', ');
  const compared = (
    what: string,
    both: Both<number>,
    words: (values: readonly number[]) => string,
  ): Figure => ({
    what,
    ours: words(both.ours),
    instead: words(both.theirs),
    ratio: ratioOf(both.ours, both.theirs),
    goal: null,
  });
  const timesOf = (what: string, times: readonly number[]) => alone(what, spreadMs(times));
  const between = (from: (drawing: Drawing) => number, to: (drawing: Drawing) => number) =>
    typed.ours.map(drawing => to(drawing) - from(drawing));
  const asked = ({ askedMs }: Drawing) => askedMs ?? Number.NaN;
  const told = ({ answeredMs }: Drawing) => answeredMs ?? Number.NaN;
  const bytes = by(loaded, load => load.bytes);
  const keys = by(typed, ({ drawnMs }) => drawnMs);
  print({
    title: 'The web UI, with many owners',
    how: `A list of ${count(size.owners)} owners in Chromium, signed in by a link, over this host's loopback. First loads are with an empty cache, ${loads} on each side; ${typed.ours.length} keys were pressed in the search field, each at rest. A time is from the browser's event to the frame after the one that shows the rows of that very answer. Instead: a page whose script fetches all rows at once, and goes through them at each key.`,
    figures: [
      {
        ...compared('first load, until the first row', bytes, typical(kilobytes)),
        goal: {
          words: `under ${goals.bytes / 1000} kB`,
          met: Math.max(...bytes.ours) < goals.bytes,
          reason: 'the app has grown.',
        },
      },
      compared(
        'requests for it',
        by(loaded, load => load.requests),
        typical(String),
      ),
      compared(
        'from the navigation to the first row',
        by(loaded, load => load.firstRowMs),
        spreadMs,
      ),
      {
        ...compared('from a keystroke to its rows: median, 95 %, worst', keys, slowest),
        goal: {
          words: `under ${goals.keyMs} ms`,
          met: Math.max(...keys.ours) < goals.keyMs,
          reason: 'the host had other work meanwhile.',
        },
      },
      timesOf(
        'of that, until the daemon is asked',
        between(() => 0, asked),
      ),
      timesOf('then until it has answered', between(asked, told)),
      timesOf(
        'then until the rows are in the page',
        between(told, ({ thereMs }) => thereMs),
      ),
      timesOf(
        'then until they can be seen',
        between(
          ({ thereMs }) => thereMs,
          ({ drawnMs }) => drawnMs,
        ),
      ),
      timesOf('such a question asked at the socket', answered),
      timesOf('from a click to the next page', turned),
      timesOf('from a click to another order', sorted),
      compared(
        "memory of the page's own objects",
        heaps,
        typical(mb => `${mb.toFixed(1)} MB`),
      ),
    ],
  });
}
