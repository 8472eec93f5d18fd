/**
 * The daemon's memory has an end: four hours of mixed work in fast motion, and the live heap after
 * each.
 *
 * A minute's work is done as quickly as it is answered, then both clocks of the daemon go on by the rest of
 * the minute (libfaketime), so that every timer comes to its turn. The heap is read after all garbage was
 * collected, so the figure is of what is held and of nothing else, on a busy host as on a quiet one.
 */

import { once } from 'node:events';
import { mkdir, rm } from 'node:fs/promises';
import { Agent } from 'node:http';
import { join } from 'node:path';
import t from 'tap';
import { type Answer, answerIn, type Sent, send } from '../api/http.ts';
import { Clone } from '../e2e/clone.ts';
import type { Daemon } from '../e2e/daemon.ts';
import { Server } from '../e2e/server.ts';
import { WallClock } from '../e2e/wall-clock.ts';
import { isLong, lengthOf } from '../run-length.ts';

interface Question {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

const ownPage = { 'Sec-Fetch-Site': 'same-origin' };
const packages = 'size:assets:packages:all';

class MixedLoad {
  /** Number of answers, by status. */
  readonly answered = new Map<number, number>();
  readonly #server: Server;
  readonly #port: number;
  readonly #clone: Clone;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 8 });
  #made = 0;

  private constructor(server: Server, port: number, clone: Clone) {
    this.#server = server;
    this.#port = port;
    this.#clone = clone;
  }

  /**
   * On a server with the repositories `alice/app`, which has room, and `bob/app`, whose owner is over the
   * limit.
   */
  static async on(server: Server): Promise<MixedLoad> {
    const answers = await server.daemon.logged(/^softquota answers/);
    const clone = await Clone.of(server, server.path('alice/app'));
    return new MixedLoad(server, Number(new URL(String(answers.http)).port), clone);
  }

  /** A minute's work; resolves once all of it was answered. */
  async minute(): Promise<void> {
    const times = (count: number, act: () => Promise<unknown>) => Array.from({ length: count }, () => act);
    const works = [
      ...times(120, () => this.#check()),
      ...times(60, () => this.#refusal()),
      ...times(10, () => this.#changed()),
      ...times(6, () => this.#reports()),
      ...times(2, () => this.#set()),
      ...times(4, () => this.#unknown()),
      ...times(10, () => this.#lists()),
      ...times(4, () => this.#policy()),
      ...times(2, () => this.#signIn()),
      ...times(6, () => this.#wrongToken()),
      ...times(2, () => this.#repository()),
      ...times(1, () => this.#push()),
    ].sort(() => Math.random() - 0.5);
    const working = Array.from({ length: 8 }, async () => {
      for (let work = works.pop(); work !== undefined; work = works.pop()) await work();
    });
    await Promise.all(working);
  }

  /** The connections that are kept. */
  close(): void {
    this.#agent.destroy();
  }

  #name(what: string): string {
    return `${what}-${++this.#made}-${Math.random().toString(36).slice(2)}`;
  }

  #check(): Promise<unknown> {
    const path = encodeURIComponent(this.#server.path('alice/app'));
    return this.#ask('gate', `/v1/check?path=${path}&actor=${this.#name('actor')}`);
  }

  async #refusal(): Promise<void> {
    const path = encodeURIComponent(this.#server.path('bob/app'));
    await this.#ask('gate', `/v1/check?path=${path}&actor=${this.#name('actor')}`);
    await this.#ask('gate', `/v1/check?owner=${this.#name('nobody')}&subject=${packages}&actor=x&size=1`);
  }

  async #changed(): Promise<void> {
    await this.#ask('gate', '/v1/changed', { body: { path: this.#server.path('alice/app') } });
    await this.#ask('gate', '/v1/changed', { body: { path: this.#server.path(`${this.#name('no')}/such`) } });
  }

  async #reports(): Promise<void> {
    const unit = { owner: 'alice', subject: packages, unit: this.#name('unit') };
    await this.#ask('trusted', '/v1/units', { body: { ...unit, bytes: 5 } });
    await this.#ask('trusted', '/v1/units', { body: { ...unit, bytes: 0 } });
    await this.#ask('trusted', '/v1/changed', {
      body: { owner: 'carol', subject: 'size:git:lfs', delta: 1 },
    });
  }

  async #set(): Promise<void> {
    const lines = Array.from({ length: 50 }, () =>
      JSON.stringify({ owner: 'carol', subject: packages, unit: this.#name('unit'), bytes: 1 }),
    );
    await this.#ask('trusted', '/v1/sources/registry', { method: 'PUT', body: `${lines.join('\n')}\n` });
  }

  async #unknown(): Promise<void> {
    await this.#ask('trusted', `/v1/usage?owner=${this.#name('nobody')}`);
    await this.#ask('trusted', `/v1/sources/${this.#name('none')}`, { method: 'DELETE' });
    await this.#ask('admin', `/api/v1/${this.#name('nothing')}`);
    await this.#http(`/${this.#name('page')}`, {});
    await this.#ask('gate', '/v1/check?path=relative');
  }

  async #lists(): Promise<void> {
    await this.#ask('admin', `/api/v1/admin/quota/usage?q=${this.#name('q')}`);
    await this.#ask('admin', '/api/v1/admin/quota/usage?sort=percent');
    await this.#ask('admin', '/api/v1/admin/quota/events?limit=5');
    await this.#ask('admin', `/api/v1/admin/quota/explain?user=${this.#name('who')}&subject=size:all`);
    await this.#ask('admin', '/api/v1/admin/quota/overview');
  }

  async #policy(): Promise<void> {
    const [rule, group, user] = ['rule', 'group', 'user'].map(what => this.#name(what));
    const rules = [{ name: rule, limit: 5, subjects: ['size:all'] }];
    await this.#ask('admin', '/api/v1/admin/quota/groups', { body: { name: group, rules } });
    await this.#ask('admin', '/api/v1/admin/users', { body: { username: user } });
    await this.#ask('admin', `/api/v1/admin/users/${user}/quota/groups`, { body: { groups: [group] } });
    await this.#ask('gate', `/v1/check?owner=${user}&subject=size:all&actor=${user}`);
    const token = { name: 'one', scopes: ['read:user'] };
    await this.#ask('admin', `/api/v1/users/${user}/tokens`, { body: token });
    await this.#ask('admin', `/api/v1/admin/users/${user}`, {
      method: 'PATCH',
      body: { username: `${user}-2` },
    });
    await this.#ask('admin', `/api/v1/admin/users/${user}-2`, { method: 'DELETE' });
    await this.#ask('admin', `/api/v1/admin/quota/groups/${group}`, { method: 'DELETE' });
    await this.#ask('admin', `/api/v1/admin/quota/rules/${rule}`, { method: 'DELETE' });
  }

  /** Somebody comes, looks around and goes. */
  async #signIn(): Promise<void> {
    const user = this.#name('guest');
    await this.#ask('admin', '/api/v1/admin/users', { body: { username: user } });
    const made = await this.#ask('admin', `/api/v1/users/${user}/tokens`, {
      body: { name: 'page', scopes: ['read:user'] },
    });
    const { sha1 } = JSON.parse(made.text);
    const session = await this.#http('/api/v1/session', { body: { token: sha1 }, headers: ownPage });
    const cookie = (session.headers['set-cookie'] ?? []).map(each => each.split(';')[0]).join('; ');
    await this.#http('/api/v1/user/quota', { headers: { cookie } });
    await this.#http('/api/v1/user/quota/report', { headers: { Authorization: `token ${sha1}` } });
    await this.#http('/api/v1/session', { method: 'DELETE', headers: { cookie, ...ownPage } });
    await this.#ask('admin', `/api/v1/admin/users/${user}`, { method: 'DELETE' });
  }

  /** From another address each time. */
  async #wrongToken(): Promise<void> {
    const part = () => Math.floor(Math.random() * 256);
    const headers = {
      'X-Forwarded-For': `10.${part()}.${part()}.${part()}`,
      Authorization: `token ${this.#name('t')}`,
    };
    await this.#http('/api/v1/user/quota', { headers });
  }

  /** It comes, is measured, and goes. */
  async #repository(): Promise<void> {
    const path = this.#server.path(`dave/${this.#name('repo')}`);
    for (const part of ['objects', 'refs']) await mkdir(join(path, part), { recursive: true });
    await mkdir(join(path, 'HEAD'), { recursive: true });
    await this.#ask('gate', '/v1/changed', { body: { path } });
    await rm(path, { recursive: true });
    await this.#ask('gate', '/v1/changed', { body: { path } });
  }

  async #push(): Promise<void> {
    await this.#clone.commit(100);
    await this.#clone.push();
  }

  #ask(socket: 'gate' | 'trusted' | 'admin', path: string, question: Question = {}): Promise<Answer> {
    return this.#send({ socketPath: this.#server.socket(socket) }, path, question);
  }

  #http(path: string, question: Question): Promise<Answer> {
    return this.#send({ host: '127.0.0.1', port: this.#port }, path, question);
  }

  async #send(to: Sent['to'], path: string, { method, body, headers = {} }: Question): Promise<Answer> {
    const text = typeof body === 'string' || body === undefined ? body : JSON.stringify(body);
    const type = text === undefined ? {} : { 'Content-Type': 'application/json' };
    const question = {
      to,
      path,
      method: method ?? (text === undefined ? 'GET' : 'POST'),
      headers: { ...type, ...headers },
      body: text,
    };
    // The jump of the clock ends kept connections, before an answer or in its midst.
    const answer = await send({ ...question, agent: this.#agent })
      .then(answerIn)
      .catch(() => send({ ...question, agent: false }).then(answerIn));
    this.answered.set(answer.status, (this.answered.get(answer.status) ?? 0) + 1);
    return answer;
  }
}

const minutes = lengthOf(4, 24);
/** Between two looks at the heap. */
const apart = Math.ceil(minutes / 24);
/**
 * The bytes that the second half of the time may add: some lists are still filling up to their bounds in a
 * short run.
 */
const mostGrowthBytes = minutes < 240 ? 4_000_000 : 1_000_000;

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
