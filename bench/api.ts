/**
 * Claims: with 100,000 owners, 1,000 groups and 10,000 rules the first page of usage by size comes within 50
 * ms, and a rule that a thousand owners share is in force for all of them when its change is answered.
 */

import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Asked, ask } from './asking.ts';
import { startDaemon, startServer } from './daemon.ts';
import {
  alone,
  count,
  type Figure,
  median,
  megabytes,
  milliseconds,
  print,
  ratioOf,
  seconds,
  spread,
  tell,
} from './figures.ts';
import { makeGround, writeConfig } from './ground.ts';
import { makeStore, sharedRule, size } from './policy-store.ts';
import { memoryMb } from './processes.ts';
import { adminAnswers, agent, answerOf, msOf, settled } from './questions.ts';

const rounds = 20;
const changes = 10;
const starts = 3;
const goalMs = 50;
const goalBusyMs = 5;
const busyMs = 5000;

const directory = makeGround();
const config = writeConfig(directory, '');
tell(`a store of ${count(size.owners)} owners is made`);
const { sharing, others, tables } = await makeStore(directory, config);

const began: number[] = [];
for (let each = 0; each < starts; each++) {
  const started = await startDaemon(config, check(others[each] ?? ''));
  began.push(started.answeredMs);
  await started.stop();
}
tell(`starts: ${spread(began, seconds)}`);

const daemon = await startDaemon(config);
const admin = await adminAnswers(daemon);
await settled(daemon);
const memory = memoryMb(daemon.pid);
const tableServer = fileURLToPath(new URL('./table-server.ts', import.meta.url));
const table = await startServer(
  [tableServer, join(directory, 'table.sock'), tables],
  join(directory, 'table.sock'),
  '/usage',
);

const usage = '/api/v1/admin/quota/usage';
const pages = await compare('first page of usage by size', usage, '/usage');
const figures: Figure[] = [
  {
    ...pages,
    goal: {
      words: `under ${goalMs} ms`,
      met: pages.medianMs < goalMs,
      reason: 'every owner has one look, and the host had other work meanwhile.',
    },
  },
  await timesOf('the same by percent of the limit', `${usage}?sort=percent`),
  await timesOf('the same of owners with 777 in their names', `${usage}?q=777`),
  await alone(`the last page, of ${count(size.owners / 50)}`, `${usage}?page=${size.owners / 50}`),
  await timesOf(
    'the reasoning of a decision',
    `/api/v1/admin/quota/explain?user=${others[0]}&subject=size:git:lfs`,
  ),
  await timesOf('the overview of all owners', '/api/v1/admin/quota/overview'),
  await timesOf('lint of the whole policy', '/api/v1/admin/quota/lint'),
  ...(await changing()),
  await waiting(),
  alone('from exec to the first decision', spread(began, seconds)),
  alone('memory (most)', megabytes(memory)),
];
await Promise.all([daemon.stop(), table.stop()]);
agent.destroy();
print({
  title: 'The API, with many owners',
  how: `${count(size.owners)} owners with two units each and in a group each, ${count(size.groups)} groups, ${count(size.rules)} rules; one question after the other over one kept connection, ${rounds} of each, changes ${changes}. Instead: Express before tables of SQLite's that are added up when somebody asks. It knows no rules, groups or decisions, and only the sizes of owners; softquota tells what decides about each owner besides.`,
  figures,
});

function check(owner: string): string {
  return `/v1/check?owner=${owner}&subject=size:git:lfs`;
}

function limited(limit: number) {
  return { method: 'PATCH', body: { limit } } as const;
}

async function compare(
  what: string,
  ours: string,
  theirs: string,
): Promise<Figure & { readonly medianMs: number }> {
  const both = { ours: [] as number[], theirs: [] as number[] };
  for (let round = -2; round < rounds; round++) {
    const each = [await msOf(admin, ours), await msOf(table.socket, theirs)] as const;
    if (round < 0) continue; // the code is warm then
    both.ours.push(each[0]);
    both.theirs.push(each[1]);
  }
  tell(`${what}: ${spread(both.ours, milliseconds)}, tables ${spread(both.theirs, milliseconds)}`);
  return {
    what,
    ours: spread(both.ours, milliseconds),
    instead: `tables ${spread(both.theirs, milliseconds)}`,
    ratio: ratioOf(both.ours, both.theirs),
    goal: null,
    medianMs: median(both.ours),
  };
}

async function timesOf(what: string, path: string): Promise<Figure> {
  const times: number[] = [];
  for (let round = -2; round < rounds; round++) {
    const ms = await msOf(admin, path);
    if (round >= 0) times.push(ms);
  }
  tell(`${what}: ${spread(times, milliseconds)}`);
  return alone(what, spread(times, milliseconds));
}

/** Changes the shared rule to and fro, and asks about everybody whom it bears on. */
async function changing(): Promise<readonly Figure[]> {
  const answered: number[] = [];
  const tableAnswered: number[] = [];
  const seen: number[] = [];
  let stale = 0;
  for (let round = 0; round < changes; round++) {
    const limit = round % 2 === 0 ? 0 : -1;
    answered.push(await msOf(admin, `/api/v1/admin/quota/rules/${sharedRule}`, limited(limit)));
    for (const [index, owner] of sharing.entries()) {
      const { status, ms } = await answerOf(daemon.socket, check(owner));
      if (index === 0) seen.push(ms);
      if (status !== (limit === 0 ? 413 : 200)) stale++;
    }
    tableAnswered.push(await msOf(table.socket, `/rules/${sharedRule}`, limited(limit)));
    await settled(daemon);
  }
  const shared = `a rule that ${count(sharing.length)} owners share`;
  tell(`${shared}: ${spread(answered, milliseconds)}, ${stale} stale decisions`);
  return [
    {
      what: `a change of ${shared}, until it is on the disk and answered`,
      ours: spread(answered, milliseconds),
      instead: `tables ${spread(tableAnswered, milliseconds)}`,
      ratio: ratioOf(answered, tableAnswered),
      goal: null,
    },
    alone(
      `from that answer to the next check's; decisions by the old limit, of ${count(changes * sharing.length)}`,
      `${spread(seen, milliseconds)}; ${stale}`,
      { words: 'in force at once', met: stale === 0, reason: 'this must not be.' },
    ),
  ];
}

/** Measures how long checks wait while an administrator lists and changes without a pause. */
async function waiting(): Promise<Figure> {
  const asking = {
    socket: daemon.socket,
    pid: daemon.pid,
    addresses: others.slice(0, 10_000).map(check),
    accept: 'text/plain',
    connection: 'kept',
  } as const;
  const quiet = await ask({ ...asking, milliseconds: busyMs });
  const busy = ask({ ...asking, milliseconds: busyMs });
  const ruling = { goesOn: true };
  const administrator = (async () => {
    for (let round = 0; ruling.goesOn; round++) {
      await msOf(admin, usage);
      await msOf(admin, `/api/v1/admin/quota/rules/${sharedRule}`, limited(1e12 + round));
    }
  })();
  const asked = await busy;
  ruling.goesOn = false;
  await administrator;
  const shown = ({ p50Ms, p99Ms }: Asked) => `${milliseconds(p50Ms)}, ${milliseconds(p99Ms)}`;
  return {
    what: 'checks while an administrator lists and changes without a pause, p50 and p99',
    ours: shown(asked),
    instead: `with no administrator ${shown(quiet)}`,
    ratio: asked.p99Ms / quiet.p99Ms,
    goal: {
      words: `p99 under ${goalBusyMs} ms`,
      met: asked.p99Ms < goalBusyMs,
      reason: 'the administrator and the asker share two cores with the gate.',
    },
  };
}
