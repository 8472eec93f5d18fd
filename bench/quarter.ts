/**
 * Claim: memory has a bound under mixed load: a quarter of an hour of checks, refusals, lists, policy changes,
 * long reports and sweeps at once. Draws what is resident as quarter.svg.
 */

import { mkdirSync } from 'node:fs';
import { request } from 'node:http';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { drawCurve } from './curve.ts';
import { startDaemon, sweep } from './daemon.ts';
import { count, print, tell } from './figures.ts';
import { Made, makeBareRepository, makeGround, writeConfig } from './ground.ts';
import { memoryMb } from './processes.ts';

const lengthMs = Number(process.env.SOFTQUOTA_QUARTER_MS ?? 900_000);
const everyMs = 5000;
const repositories = 1000;
const unitsInSet = 20_000;
const mostMb = 450;

const directory = makeGround();
const root = join(directory, 'git');
mkdirSync(root);
const made = new Made();
for (let each = 0; each < repositories; each++) {
  mkdirSync(join(root, `owner-${each}`));
  makeBareRepository(made, join(root, `owner-${each}`, 'app.git'));
}
const config = writeConfig(directory, `[storage.repos]\nPATH = ${root}/{owner}/{repo}.git\n`);
const daemon = await startDaemon(config);
await sweep(config, repositories);
const atStart = memoryMb(daemon.pid).now;
const endsAt = performance.now() + lengthMs;
const sockets = dirname(daemon.socket);
let asked = 0;

const curve: number[] = [atStart];
const sampling = (async () => {
  while (performance.now() < endsAt) {
    await delay(everyMs);
    curve.push(memoryMb(daemon.pid).now);
    if (curve.length % 12 === 0) tell(`${count(asked)} answers: ${Math.round(curve.at(-1) ?? 0)} MB`);
  }
})();

const set = Array.from({ length: unitsInSet }, (_, unit) =>
  JSON.stringify({
    owner: `owner-${unit % repositories}`,
    subject: 'size:assets:packages:all',
    unit: `unit-${unit}`,
    bytes: unit,
  }),
).join('\n');
const names = ['one', 'other'];
await Promise.all([
  ...Array.from({ length: 8 }, (_, each) =>
    again(round =>
      ask(
        'gate.sock',
        `/v1/check?path=${root}/owner-${(each + 8 * round) % repositories}/app.git&actor=a${round}`,
      ),
    ),
  ),
  again(round => ask('gate.sock', `/v1/check?path=${root}/nobody-${round}/app.git`)),
  again(() => ask('admin.sock', '/api/v1/admin/quota/usage?sort=percent').then(() => delay(100))),
  again(() => ask('admin.sock', '/api/v1/admin/quota/overview').then(() => delay(500))),
  ...names.map(name =>
    again(async round => {
      const rules = [{ name: `${name}-${round}`, limit: 5, subjects: ['size:all'] }];
      await ask(
        'admin.sock',
        '/api/v1/admin/quota/groups',
        'POST',
        JSON.stringify({ name: `${name}-${round}`, rules }),
      );
      await ask('admin.sock', `/api/v1/admin/quota/groups/${name}-${round}`, 'DELETE');
      await ask('admin.sock', `/api/v1/admin/quota/rules/${name}-${round}`, 'DELETE');
      await delay(200);
    }),
  ),
  again(() => ask('trusted.sock', '/v1/sources/registry', 'PUT', `${set}\n`).then(() => delay(10_000))),
  again(() => sweep(config, repositories).then(() => delay(30_000))),
  sampling,
]);
await delay(60_000);
const rested = memoryMb(daemon.pid).now;
await daemon.stop();

const most = Math.max(...curve);
drawCurve('quarter.svg', curve, {
  title: `Megabytes in memory over ${count(asked)} mixed requests in ${Math.round(lengthMs / 60_000)} minutes`,
  below: `MB in memory, each ${everyMs / 1000} seconds of ${Math.round(lengthMs / 60_000)} minutes of mixed load`,
});
print({
  title: 'A quarter of an hour of mixed load',
  how: `${count(asked)} requests: checks, also of unknown paths, lists, policy changes, sets of ${count(unitsInSet)} reported units, and sweeps of ${count(repositories)} repositories; what is resident, each ${everyMs / 1000} seconds.`,
  figures: [
    {
      what: 'memory at most',
      ours: `${most.toFixed(0)} MB`,
      instead: `at the start ${atStart.toFixed(0)} MB, a minute after the end ${rested.toFixed(0)} MB`,
      ratio: most / atStart,
      goal: {
        words: `at most ${mostMb} MB`,
        met: most <= mostMb,
        reason: 'something is kept that should go',
      },
    },
  ],
});

/** Does it again and again until the time is over. */
async function again(act: (round: number) => Promise<unknown>): Promise<void> {
  for (let round = 0; performance.now() < endsAt; round++) await act(round);
}

function ask(socket: string, path: string, method = 'GET', body = ''): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const headers = body === '' ? {} : { 'Content-Type': 'application/json' };
  const question = request(
    { socketPath: join(sockets, socket), path, method, headers, agent: false },
    answer => {
      answer.resume().on('end', resolve);
    },
  );
  question.on('error', reject).end(body);
  asked += 1;
  return promise;
}
