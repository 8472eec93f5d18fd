/**
 * Thousands of requests that nobody sends who means well, over every route of the API and the gate, each
 * shape up to its largest size: none is answered by a mistake of softquota's own, and none holds the event
 * loop, so that checks go on beside them.
 *
 * The order comes from a seed that is printed; `SOFTQUOTA_SEED` plays the same one again.
 */

import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { z } from 'zod';
import type { Document } from '../../scripts/reference/openapi.ts';
import { account, addressOf } from '../e2e/accounts.ts';
import { Server } from '../e2e/server.ts';
import { isLong } from '../run-length.ts';
import { attacker, campaign, type HostileRequest, targets } from './campaign.ts';

const most = isLong ? 20_000 : 400;
const seed = Number(process.env.SOFTQUOTA_SEED ?? Date.now() % 2 ** 31);
const sampler = new URL('loop-sampler.ts', import.meta.url).href;

/**
 * A request holds the loop where it does so each time: what is compiled or collected meanwhile does not come
 * again.
 */
const tries = 3;

t.setTimeout(isLong ? 3_600_000 : 240_000);

t.test(`of ${most} hostile requests none holds the event loop`, async t => {
  t.comment(`SOFTQUOTA_SEED=${seed}`);
  const server = await Server.open(t, { started: false });
  const daemon = await server.start({ env: { NODE_OPTIONS: `--import=${sampler}` } });
  const tokens = {
    admin: await account(server, 'root', { isAdmin: true }),
    user: await account(server, attacker),
  };
  const source = { name: 'company', openid_connect_auto_discovery_url: 'http://127.0.0.1:2', client_id: 'x' };
  let sourceId = '';
  for (const [path, body] of [
    ['users', { username: targets.user }],
    ['users', { username: targets.org, type: 'organization' }],
    ['quota/rules', { name: targets.rule, limit: 1, subjects: ['size:all'] }],
    ['quota/groups', { name: targets.group, rules: [{ name: targets.rule }] }],
    ['auths', source],
  ] as const) {
    const { status, text } = await server.ask('admin', `/api/v1/admin/${path}`, { body });
    t.equal(status, 201, `${path}: ${text}`);
    if (body === source) sourceId = String(z.object({ id: z.number() }).parse(JSON.parse(text)).id);
  }
  const address = new URL(await addressOf(server));
  const sent: { readonly what: string; readonly from: number; readonly to: number }[] = [];
  const before = daemon.lines.length;
  const from = Date.now();
  // The attacks follow the daemon's own description.
  const description = (await (await fetch(new URL('api/v1/openapi.json', address))).json()) as Document;
  sent.push({ what: 'the description', from, to: Date.now() });
  const requests = campaign(description, { tokens, sourceId, seed }).slice(0, most);
  t.ok(requests.length >= Math.min(most, 5000), `${requests.length} requests`);

  const agent = new Agent({ keepAlive: true, maxSockets: 4 });
  t.teardown(() => agent.destroy());
  const to = {
    http: { host: address.hostname, port: address.port },
    gate: { socketPath: server.socket('gate') },
    trusted: { socketPath: server.socket('trusted') },
  };
  const held = z.object({ msg: z.literal('the event loop was held'), heldMs: z.number(), at: z.number() });
  const holds = (from: number) => daemon.lines.slice(from).flatMap(line => held.safeParse(line).data ?? []);

  const statuses = new Map<number, number>();
  for (const each of requests) {
    const from = Date.now();
    const status = await send({ agent, ...to[each.socket] }, each);
    sent.push({ what: each.what, from, to: Date.now() });
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    if (status === 500) t.fail(`${each.what}: an internal error`);
  }

  t.comment(Object.fromEntries(statuses));
  const late: string[] = [];
  for (const { heldMs, at } of holds(before)) {
    const under = requests.filter((_, index) => {
      const each = sent[index + 1];
      return each !== undefined && each.from <= at && at - heldMs <= each.to + 20;
    });
    const what = `${Math.round(heldMs)} ms: ${under.map(each => each.what).join(' | ')}`;
    t.comment(`held once for ${what}`);
    let times = 1;
    for (; times < tries; times += 1) {
      const from = daemon.lines.length;
      for (const each of under) await send({ agent, ...to[each.socket] }, each);
      // The look behind the last of them.
      await sleep(20);
      if (holds(from).length === 0) break;
    }
    if (times === tries) late.push(what);
  }
  t.strictSame(late, [], 'no request holds the event loop over 50 ms');
  t.equal((await server.ask('gate', '/v1/check?owner=alice&subject=size:all')).status, 200);
});

interface Target {
  readonly agent: Agent;
  readonly host?: string;
  readonly port?: string;
  readonly socketPath?: string;
}

/** The status; 0 where the connection ended without one. */
function send(target: Target, { method, path, headers, body }: HostileRequest): Promise<number> {
  return new Promise(resolve => {
    const asked = request({ ...target, method, path, headers, timeout: 60_000 }, response => {
      response.on('error', () => resolve(0));
      response.on('end', () => resolve(response.statusCode ?? 0));
      response.resume();
    });
    asked.on('timeout', () => asked.destroy());
    asked.on('error', () => resolve(0));
    asked.end(body?.());
  });
}
