/** After a mixed load the metrics add up to what the answers, the log, the events and the pages say. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { z } from 'zod';
import { startSingle } from '../store/redis-servers.ts';
import { ask, until } from './ask.ts';
import { Clone } from './clone.ts';
import { fleetHost } from './fleet-hosts.ts';
import { Server } from './server.ts';

t.setTimeout(240_000);

interface Line {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

async function linesOf(server: Server): Promise<readonly Line[]> {
  const { text } = await server.ask('admin', '/metrics');
  return text.split('\n').flatMap(line => {
    const [, name, labels = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    if (name === undefined) return [];
    const pairs = [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, key = '', text = '']) => [key, text]);
    return [{ name, labels: Object.fromEntries(pairs), value: Number(value) }];
  });
}

/** The sum of all lines of a metric with these labels. */
function sumOf(
  lines: readonly Line[],
  metric: string,
  labels: Readonly<Record<string, string>> = {},
): number {
  const wanted = Object.entries(labels);
  return lines
    .filter(line => line.name === metric && wanted.every(([key, value]) => line.labels[key] === value))
    .reduce((sum, { value }) => sum + value, 0);
}

const refusals = z.array(z.object({ count: z.number(), mode: z.string(), subject: z.string() }));

t.test('decisions are those that were answered, logged and put on record', async t => {
  const server = await Server.open(t, {
    ini: {
      quota: { ENABLED: 'true', GRACE: '7d' },
      'quota.default': { TOTAL: '200k' },
      gate: { HEADERS: 'original', PRESET: 'lfs' },
      metrics: { ENABLED: 'true' },
    },
    repositories: ['alice/app', 'bob/app', 'carol/app'],
  });
  const tried = { name: 'tried', limit: 10, subjects: ['size:all'], mode: 'report' };
  await server.admin('/admin/quota/groups', { body: { name: 'trial', rules: [tried] } });
  await server.admin('/admin/quota/rules', {
    body: { name: 'total', limit: 200_000, subjects: ['size:all'] },
  });
  await server.admin('/admin/quota/groups/trial/rules/total', { method: 'PUT' });
  await server.admin('/admin/quota/groups/trial/users/carol', { method: 'PUT' });
  await writeFile(join(server.path('alice/app'), 'objects/pack/big'), 'x'.repeat(300_000));
  await server.scan();

  const answered = { allowed: 0, refused: 0 };
  const note = (isAllowed: boolean) => {
    answered[isAllowed ? 'allowed' : 'refused'] += 1;
  };
  const check = async (owner: string, subject: string, post: boolean) => {
    const path = `/v1/check?owner=${owner}&subject=${subject}`;
    const body = { owner, subject };
    const { status } = await (post
      ? server.ask('gate', '/v1/check', { body })
      : server.ask('gate', path, { accept: 'text/plain' }));
    note(status === 200);
  };
  const reserve = async (owner: string) => {
    const body = { owner, subject: 'size:git:lfs', size: 1, seconds: 1 };
    note((await server.ask('gate', '/v1/reservations', { body })).status === 201);
  };
  const pushers = await Promise.all(
    ['alice', 'bob', 'carol'].map(owner => Clone.of(server, server.path(`${owner}/app`))),
  );
  const push = async (clone: Clone) => {
    for (let at = 0; at < 3; at++) {
      await clone.commit(1000);
      note((await clone.push()).code === 0);
    }
  };
  const asking = async (turn: number) => {
    for (const owner of ['alice', 'bob', 'carol', 'nobody']) {
      await check(owner, 'size:repos:private', turn % 2 === 0);
      await check(owner, 'size:all', turn % 3 === 0);
      await reserve(owner);
    }
  };
  await Promise.all([...pushers.map(push), ...Array.from({ length: 20 }, (_, turn) => asking(turn))]);

  const lines = await linesOf(server);
  const decided = (labels: Readonly<Record<string, string>>) =>
    sumOf(lines, 'softquota_decisions_total', labels);
  const wouldRefuse = decided({ result: 'would_refuse' });
  t.ok(wouldRefuse > 20 * 3, 'carol is let through by the trial');
  t.equal(decided({ result: 'allowed' }) + wouldRefuse, answered.allowed);
  t.equal(decided({ result: 'refused' }), answered.refused);
  const told = await until(async () => {
    const { text } = await server.ask('admin', '/api/v1/admin/quota/events?kind=refusal&limit=1000');
    const events = refusals.parse(JSON.parse(text));
    const count = (mode: string) =>
      events.filter(each => each.mode === mode).reduce((sum, each) => sum + each.count, 0);
    const found = { enforce: count('enforce'), report: count('report') };
    return found.enforce + found.report >= answered.refused + wouldRefuse ? found : null;
  });
  t.same(told, { enforce: answered.refused, report: wouldRefuse });
  const logged = (msg: string) => server.daemon.lines.filter(line => line.msg === msg).length;
  t.equal(logged('refused'), answered.refused);
  t.equal(logged('would be refused'), wouldRefuse);
  t.ok(sumOf(lines, 'softquota_decision_duration_seconds_count') > 0);

  const { owners } = z
    .object({ owners: z.record(z.string(), z.number()) })
    .parse(await server.admin('/admin/quota/overview'));
  for (const state of ['over', 'grace', 'near'])
    t.equal(sumOf(lines, 'softquota_owners', { state }), owners[state], state);
});

t.test('usage adds up by kind and by source, also with several hosts', async t => {
  const { address } = await startSingle(t);
  const ini = { metrics: { ENABLED: 'true' }, 'quota.default': { TOTAL: '-1' } };
  const one = await fleetHost(t, { address, host: 'one', ini, repositories: ['alice/app'] });
  const two = await fleetHost(t, { address, host: 'two', ini, repositories: ['alice/app', 'bob/app'] });
  await one.reports('alice', 7000);
  await two.reports('alice', 500);
  const set = { owner: 'bob', subject: 'size:assets:packages:all', unit: 'a', bytes: 34 };
  const put = await ask(one.socket('trusted'), '/v1/sources/registry?stale_after=600', {
    method: 'PUT',
    body: set,
  });
  t.equal(put.status, 200, put.text);
  const delta = { owner: 'bob', subject: 'size:repos:private', delta: 900 };
  t.equal((await two.ask('trusted', '/v1/changed', { body: delta })).status, 202);
  const usageOf = async (server: Server) =>
    (await Promise.all(['alice', 'bob'].map(owner => server.usage(owner)))).reduce((sum, each) => sum + each);
  const total = await until(async () => {
    const [a, b] = [await usageOf(one), await usageOf(two)];
    return a === b && a > 0 ? a : null;
  });
  const [first, second] = [await linesOf(one), await linesOf(two)];
  const bytes = (lines: readonly Line[], labels = {}) => sumOf(lines, 'softquota_usage_bytes', labels);
  t.equal(bytes(first), total);
  t.equal(bytes(second), total);
  t.equal(bytes(first, { source: 'reported' }), 7034);
  t.equal(bytes(second, { source: 'reported' }), 500);
  t.equal(bytes(first, { source: 'reported', subject: 'size:git:lfs' }), 7000);
  t.equal(sumOf(first, 'softquota_source_bytes', { source: 'registry' }), 34);
  const own = (lines: readonly Line[]) => bytes(lines) - bytes(lines, { source: 'other_hosts' });
  t.equal(own(first) + own(second), total, 'what each host has itself is all that there is');
  t.equal(bytes(first, { source: 'other_hosts' }), own(second));
});
