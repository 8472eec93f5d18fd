/**
 * kill -9 at random moments, while pushes, reports and changes of a rule go on: what was acknowledged is
 * there, and the figures are the disk's.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import t from 'tap';
import { z } from 'zod';
import { scanReport } from '../../src/wire/index.ts';
import { until } from '../e2e/ask.ts';
import { Clone } from '../e2e/clone.ts';
import { counted } from '../e2e/count.ts';
import { Server } from '../e2e/server.ts';
import { isLong } from '../run-length.ts';

const kills = isLong ? 100 : 3;
t.setTimeout(isLong ? 3_600_000 : 240_000);

const ruleSchema = z.object({ limit: z.number() });
const units = z.object({ units: z.array(z.object({ name: z.string(), bytes: z.number() })) });

async function bytesOfUnits(server: Server, owner: string): Promise<Record<string, number>> {
  const report = units.parse(await server.admin(`/admin/quota/usage/${owner}`));
  return Object.fromEntries(report.units.map(({ name, bytes }) => [name, bytes]));
}

t.test(`killed ${kills} times while it measures, the daemon starts again and knows the disk`, async t => {
  const repositories = ['alice/app', 'alice/lib', 'bob/app'];
  const server = await Server.open(t, { ini: { 'quota.default': { TOTAL: '-1' } }, repositories });
  const clone = await Clone.of(server, server.path('alice/app'));
  const reported = new Map<string, number>();
  /** Deltas of an owner without walked units: they count for an hour. */
  const deltas = { acknowledged: 0, unknown: 0 };
  await server.admin('/admin/quota/rules', { body: { name: 'total', limit: 0, subjects: ['size:all'] } });
  /** Limit of the rule, as it was acknowledged last. */
  let limit = 0;

  for (let round = 0; round < kills; round++) {
    const life = { goesOn: true };
    const pushing = (async () => {
      while (life.goesOn) {
        await clone.commit(5000 + round);
        const url = server.path(repositories[round % repositories.length] ?? '');
        await clone.git('push', '-q', '--force', url, `main:refs/heads/b${round % 3}`);
      }
    })();
    const reporting = (async () => {
      for (let n = 0; life.goesOn; n++) {
        const unit = `package ${n % 7}`;
        const bytes = 1 + 1000 * round + n;
        const body = { owner: 'carol', subject: 'size:assets:packages:all', unit, bytes };
        const before = reported.get(unit);
        reported.delete(unit); // until it is acknowledged nobody knows which one is kept
        const answer = await server.ask('trusted', '/v1/units', { body }).catch(() => null);
        if (answer?.status === 200) reported.set(unit, bytes);
        else if (before !== undefined && answer !== null) reported.set(unit, before);
        const delta = { owner: 'dave', subject: 'size:git:lfs', delta: 10 };
        const counts = await server.ask('trusted', '/v1/changed', { body: delta }).catch(() => null);
        if (counts?.status === 202) deltas.acknowledged += 10;
        else deltas.unknown += 10;
        if (answer === null || counts === null) return;
      }
    })();
    const ruling = (async () => {
      while (life.goesOn) {
        const edit = { method: 'PATCH', body: { limit: limit + 1 } };
        const answer = await server.ask('admin', '/api/v1/admin/quota/rules/total', edit).catch(() => null);
        if (answer === null) return;
        t.equal(answer.status, 200, answer.text);
        limit += 1;
      }
    })();
    const scanning = (async () => {
      while (life.goesOn) {
        const ended = await server.scan().catch(() => null);
        if (ended === null) return;
      }
    })();
    await delay(Math.random() * 400); // the moment is what is random here
    t.strictSame(await server.stop('SIGKILL'), { code: null, signal: 'SIGKILL' });
    life.goesOn = false;
    await Promise.all([pushing, reporting, ruling, scanning]);

    await server.start({ ready: false });
    const carol = await bytesOfUnits(server, 'carol');
    for (const [unit, bytes] of reported)
      t.equal(carol[unit], bytes, `round ${round}: ${unit} as it was acknowledged`);
    const kept = ruleSchema.parse(await server.admin('/admin/quota/rules/total')).limit;
    t.ok(kept === limit || kept === limit + 1, `round ${round}: ${kept} of ${limit} acknowledged`);
    limit = kept;
    const [event] = z.array(z.unknown()).parse(await server.admin('/admin/quota/events?kind=policy&limit=1'));
    t.match(event, { name: 'total', after: { limit } }, `round ${round}: with its event`);
    const dave = await server.usage('dave');
    t.ok(
      dave >= deltas.acknowledged && dave <= deltas.acknowledged + deltas.unknown,
      `round ${round}: ${dave} of ${deltas.acknowledged} acknowledged`,
    );
  }
  const onDisk: Record<string, number> = {};
  for (const name of repositories) onDisk[server.path(name)] = await counted(server.path(name));
  const known = async () => ({
    ...(await bytesOfUnits(server, 'alice')),
    ...(await bytesOfUnits(server, 'bob')),
  });
  // The last change may be a repack's until nothing has changed for ten seconds.
  await until(async () => {
    t.equal(scanReport.parse(await server.scan()).state, 'done');
    return isDeepStrictEqual(await known(), onDisk) ? true : null;
  });
  const bob = onDisk[server.path('bob/app')];
  t.strictSame(await known(), onDisk, 'each unit is as the disk has it');
  t.equal(await server.usage('bob'), bob);
  await server.stop('SIGKILL');
  await server.start({ ready: false });
  t.equal(await server.usage('bob'), bob, 'what a scan has measured is kept when it says that it is done');
});
