/**
 * Metrics of real daemons: who may read them, that they add up to what was answered, and that
 * Prometheus takes them, the alert rules, and every query of the dashboard.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { z } from 'zod';
import { Receiver } from '../notices/receiver.ts';
import { startSingle } from '../store/redis-servers.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { addressOf } from './accounts.ts';
import { ask, until } from './ask.ts';
import { certificateIn } from './certificate.ts';
import { fleetHost } from './fleet-hosts.ts';
import { readGuide } from './guide.ts';
import { run } from './run.ts';
import { Server } from './server.ts';
import { freePort, startNginx } from './transports.ts';

const docs = fileURLToPath(new URL('../../docs/metrics/', import.meta.url));
const token = 'wR5yqmT0Xb8jV2nc';
const limited = { quota: { ENABLED: 'true' }, 'quota.default': { TOTAL: '1k' } };

/** The value of one line; undefined: there is none. */
function figureIn(text: string, line: string): number | undefined {
  const found = text.split('\n').find(each => each.startsWith(`${line} `));
  return found === undefined ? undefined : Number(found.slice(line.length + 1));
}

t.test('metrics are off unless they are asked for, and only this host or a token reads them', async t => {
  const server = await Server.open(t);
  const local = () => server.ask('admin', '/metrics');
  t.match(await local(), { status: 404, text: /\[metrics\] ENABLED is false/ });
  const restarted = async (metrics: Readonly<Record<string, string>>) => {
    await server.stop();
    await server.configure({ metrics });
    await server.start();
    const url = `${await addressOf(server)}metrics`;
    return (headers: Readonly<Record<string, string>> = {}, method = 'GET') =>
      fetch(url, { method, headers });
  };
  const open = await restarted({ ENABLED: 'true' });
  const plain = await open();
  t.equal(plain.status, 200);
  t.match(plain.headers.get('content-type'), /^text\/plain; version=0\.0\.4/);
  for (const header of ['X-Forwarded-For', 'Forwarded', 'Via', 'X-Real-IP'])
    t.equal((await open({ [header]: 'for=192.0.2.1' })).status, 403, header);
  t.equal((await local()).status, 200);
  t.equal((await open({}, 'POST')).status, 405);

  const closed = await restarted({ TOKEN: token });
  t.equal((await closed()).status, 401);
  for (const Authorization of [`Bearer ${token}x`, `token ${token}`])
    t.equal((await closed({ Authorization })).status, 401);
  const asked = { Authorization: `Bearer ${token}`, 'X-Forwarded-For': '192.0.2.1' };
  t.equal((await closed(asked)).status, 200);
  t.equal((await local()).status, 200);
  t.notMatch(await server.done('serve --print-config'), token);
});

t.test('decisions are counted by what was asked about, beside what stands and how it is stored', async t => {
  const server = await Server.open(t, {
    ini: { ...limited, metrics: { ENABLED: 'true' } },
    repositories: ['alice/app'],
  });
  await server.usageIs('alice', bytes => bytes > 1000);
  const check = (owner: string, body?: object) =>
    body === undefined
      ? server.ask('gate', `/v1/check?owner=${owner}&subject=size:repos:private`)
      : server.ask('gate', '/v1/check', { body: { owner, subject: 'size:git:lfs', ...body } });
  for (let at = 0; at < 5; at++) t.equal((await check('bob')).status, 200);
  for (let at = 0; at < 4; at++) t.equal((await check('alice')).status, 413);
  for (let at = 0; at < 3; at++) t.equal((await check('bob', {})).status, 200);
  for (let at = 0; at < 2; at++) t.equal((await check('alice', { size: 5 })).status, 413);
  const text = (await server.ask('admin', '/metrics')).text;
  const decided = (result: string, subject: string, mode = 'enforce') =>
    figureIn(
      text,
      `softquota_decisions_total{result="${result}",subject="${subject}",per="owner",mode="${mode}"}`,
    );
  t.equal(decided('allowed', 'size:repos:private'), 5);
  t.equal(decided('refused', 'size:repos:private'), 4);
  t.equal(decided('allowed', 'size:git:lfs'), 3);
  t.equal(decided('refused', 'size:git:lfs'), 2);
  t.equal(figureIn(text, 'softquota_owners{state="over"}'), 1);
  t.equal(figureIn(text, 'softquota_ready'), 1);
  t.equal(figureIn(text, 'softquota_enforcing'), 1);
  t.equal(figureIn(text, 'softquota_store_up{store="local"}'), 1);
  t.equal(figureIn(text, 'softquota_store_up{store="shared"}'), undefined);
  t.equal(figureIn(text, 'softquota_worker_up'), undefined);
  t.equal(figureIn(text, 'softquota_units'), 1);
  const used = await server.usage('alice');
  t.equal(figureIn(text, 'softquota_usage_bytes{subject="size:repos:private",source="walked"}'), used);
  t.ok((figureIn(text, 'softquota_decision_duration_seconds_count') ?? 0) >= 9);
  t.ok((figureIn(text, `softquota_disk_free_bytes{path="${join(server.folder, 'git')}"}`) ?? 0) > 0);

  await server.reload({ quota: { MODE: 'report' } });
  t.equal((await check('alice')).status, 200);
  await server.daemon.logged(/^would be refused$/);
  const lines = server.daemon.lines.filter(({ msg }) => msg === 'refused');
  t.match(
    lines,
    [{ subject: 'size:repos:private' }, { subject: 'size:git:lfs' }],
    'one line for each of them',
  );
  const later = (await server.ask('admin', '/metrics')).text;
  const reported = '{result="would_refuse",subject="size:repos:private",per="owner",mode="report"}';
  t.equal(figureIn(later, `softquota_decisions_total${reported}`), 1);
  t.equal(figureIn(later, 'softquota_enforcing'), 0);
});

const answered = z.object({ status: z.literal('success'), data: z.object({ result: z.array(z.unknown()) }) });
const board = z.object({
  panels: z.array(z.object({ title: z.string(), targets: z.array(z.object({ expr: z.string() })) })),
});

t.test('Prometheus takes the metrics, the rules and the queries of the dashboard', async t => {
  const server = await Server.open(t, {
    ini: {
      ...limited,
      server: { ROOT_URL: 'https://localhost/quota/', TRUSTED_PROXIES: '127.0.0.1' },
      metrics: { ENABLED: 'true', TOKEN: token },
    },
    repositories: ['alice/app'],
  });
  const { text } = await server.ask('admin', '/metrics');
  const metrics = await run('promtool', ['check', 'metrics'], { input: text });
  t.match(metrics, { code: 0, stdout: '', stderr: '' });
  const rules = join(docs, 'alerts.yml');
  t.match(await run('promtool', ['check', 'rules', rules]), { code: 0, stdout: /SUCCESS: 12 rules found/ });

  const prometheus = await startPrometheus(t, await printedScrape(t, server), rules);
  const query = async (expr: string) => {
    const answer = await fetch(`${prometheus}/api/v1/query?query=${encodeURIComponent(expr)}`);
    return answered.parse(await answer.json()).data.result;
  };
  await until(async () => ((await query('softquota_ready == 1').catch(() => [])).length === 1 ? true : null));
  const { panels } = board.parse(JSON.parse(await readFile(join(docs, 'dashboard.json'), 'utf8')));
  const known = new Set(text.split('\n').flatMap(line => /^# TYPE (\w+)/.exec(line)?.[1] ?? []));
  for (const { title, targets } of panels) {
    for (const { expr } of targets) {
      await t.resolves(query(expr.replaceAll('$__rate_interval', '5m')), `${title}: ${expr}`);
      for (const [name] of expr.matchAll(/softquota_\w+|process_\w+/g))
        t.ok(known.has(name.replace(/_bucket$/, '')), `${name} is a metric`);
    }
  }
  const { data } = z
    .object({
      data: z.object({ groups: z.array(z.object({ rules: z.array(z.object({ health: z.string() })) })) }),
    })
    .parse(await (await fetch(`${prometheus}/api/v1/rules`)).json());
  t.equal(data.groups.flatMap(group => group.rules).length, 12);
});

/** A block that a page of the manual prints. */
async function printed(page: string, kind: string): Promise<string> {
  const block = (await readGuide(page)).find(each => each.kind === kind);
  if (block === undefined) throw new Error(`${page} has no block of ${kind}`);
  return block.text;
}

/**
 * The scrape job of the manual, through an nginx that has the manual's lines; only names and ports differ.
 */
async function printedScrape(t: Test, server: Server): Promise<string> {
  const folder = temporaryFolder(t);
  const { certificateFile, keyFile } = await certificateIn(folder);
  const location = (await printed('api.md', 'nginx')).replace(
    'http://127.0.0.1:3080',
    `http://${new URL(await addressOf(server)).host}`,
  );
  const port = await freePort();
  const tls = `listen 127.0.0.1:${port} ssl; ssl_certificate ${certificateFile}; ssl_certificate_key ${keyFile};`;
  await startNginx(t, join(folder, 'nginx'), `${tls} ${location}`);
  return (await printed('metrics.md', 'yaml'))
    .replace('git.example', `localhost:${port}`)
    .replace('    scheme: https\n', `    scheme: https\n    tls_config: {ca_file: ${certificateFile}}\n`);
}

/** Gives its address. */
async function startPrometheus(t: Test, scrape: string, rules: string): Promise<string> {
  const folder = temporaryFolder(t);
  const file = join(folder, 'prometheus.yml');
  await writeFile(file, `global: {scrape_interval: 1s}\nrule_files: [${rules}]\n${scrape}`);
  t.match(await run('promtool', ['check', 'config', file]), { code: 0 });
  const port = await freePort();
  const child = spawn(
    'prometheus',
    [`--config.file=${file}`, `--storage.tsdb.path=${folder}/data`, `--web.listen-address=127.0.0.1:${port}`],
    { stdio: 'ignore' },
  );
  const ended = once(child, 'exit');
  t.teardown(async () => {
    child.kill();
    await ended;
  });
  return `http://127.0.0.1:${port}`;
}

/** The sum of all lines of a metric with these labels. */
function sumOf(text: string, metric: string, labels: Readonly<Record<string, string>> = {}): number {
  const wanted = Object.entries(labels).map(([key, value]) => `${key}="${value}"`);
  return text
    .split('\n')
    .filter(line => line.startsWith(`${metric}{`) && wanted.every(label => line.includes(label)))
    .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
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
  // No walk takes its place.
  const delta = { owner: 'bob', subject: 'size:git:lfs', delta: 900 };
  t.equal((await two.ask('trusted', '/v1/changed', { body: delta })).status, 202);
  const usageOf = async (server: Server) =>
    (await Promise.all(['alice', 'bob'].map(owner => server.usage(owner)))).reduce((sum, each) => sum + each);
  const total = await until(async () => {
    const [a, b] = [await usageOf(one), await usageOf(two)];
    return a === b && a > 0 ? a : null;
  });
  const textOf = async (server: Server) => (await server.ask('admin', '/metrics')).text;
  const [first, second] = [await textOf(one), await textOf(two)];
  const bytes = (text: string, labels = {}) => sumOf(text, 'softquota_usage_bytes', labels);
  t.equal(bytes(first), total);
  t.equal(bytes(second), total);
  t.equal(bytes(first, { source: 'reported' }), 7034);
  t.equal(bytes(second, { source: 'reported' }), 500);
  t.equal(bytes(first, { source: 'reported', subject: 'size:git:lfs' }), 7000);
  t.equal(sumOf(first, 'softquota_source_bytes', { source: 'registry' }), 34);
  const own = (text: string) => bytes(text) - bytes(text, { source: 'other_hosts' });
  t.equal(own(first) + own(second), total, 'what each host has itself is all that there is');
  t.equal(bytes(first, { source: 'other_hosts' }), own(second));
});

t.test('notices are counted by place, and dead ones are told by /readyz', async t => {
  const receiver = await Receiver.open(t);
  receiver.answer = response => void response.writeHead(500).end();
  const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
  const server = await Server.open(t, {
    ini: {
      ...limited,
      metrics: { ENABLED: 'true' },
      'webhook.chat': { URL: receiver.url, SECRET, ALLOW_PRIVATE: '127.0.0.1' },
    },
  });
  await server.daemon.logged(/^notices are made of what happens/);
  const figures = async () => {
    const { text } = await server.ask('admin', '/metrics');
    const of = (name: string, label: string) => figureIn(text, `softquota_${name}{place="chat",${label}}`);
    return {
      waiting: of('notices', 'state="waiting"'),
      dead: of('notices', 'state="dead"'),
      sent: of('notice_attempts_total', 'result="sent"'),
      failed: of('notice_attempts_total', 'result="failed"'),
    };
  };
  t.same(await figures(), { waiting: 0, dead: 0, sent: 0, failed: 0 });
  await server.reports('alice', 5000);
  await until(async () => ((await figures()).failed ? true : null));
  const rename = async (from: string, to: string) => {
    const ini = await readFile(server.config, 'utf8');
    await writeFile(server.config, ini.replace(`[webhook.${from}]`, `[webhook.${to}]`));
    await server.stop();
    await server.start();
  };
  // Notices that wait for a webhook that is gone are given up at the next attempt.
  await rename('chat', 'other');
  await server.daemon.logged(/^a notice could not be delivered: softquota notices send-again/);
  await rename('other', 'chat');
  const given = await figures();
  t.match(given, { waiting: 0, dead: 1, sent: 0 });
  t.match(await server.ask('gate', '/readyz'), {
    status: 200,
    text: '1 notice to chat could not be delivered',
  });

  receiver.answer = response => void response.writeHead(200).end();
  t.equal((await server.softquota('notices send-again --all')).code, 0);
  const delivered = await until(async () => {
    const later = await figures();
    return later.sent === 1 ? later : null;
  });
  t.match(delivered, { waiting: 0, dead: 0, failed: given.failed });
  t.notMatch((await server.ask('gate', '/readyz')).text, 'could not be delivered');
});
