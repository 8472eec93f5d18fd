/** The metrics of several hosts add up to what all of them store. */

import t from 'tap';
import { startSingle } from '../store/redis-servers.ts';
import { ask, until } from './ask.ts';
import { fleetHost } from './fleet-hosts.ts';
import type { Server } from './server.ts';

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
