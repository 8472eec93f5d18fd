/** Sessions of browsers on hosts that share their quota: good on each of them, and over on all of them. */

import t from 'tap';
import { startSingle } from '../store/redis-servers.ts';
import { until } from './ask.ts';
import { fleetHost } from './fleet-hosts.ts';
import type { Server } from './server.ts';

t.setTimeout(240_000);

async function ask(server: Server, path: string, init: RequestInit = {}): Promise<Response> {
  const url = String((await server.daemon.logged(/^softquota answers/)).http);
  const headers = { 'Content-Type': 'application/json', Origin: new URL(url).origin, ...init.headers };
  return fetch(new URL(`api/v1${path}`, url), { ...init, headers });
}

async function signedIn(server: Server, token: string): Promise<{ readonly Cookie: string }> {
  const answer = await ask(server, '/session', { method: 'POST', body: JSON.stringify({ token }) });
  if (answer.status !== 201) throw new Error(await answer.text());
  return { Cookie: (answer.headers.get('set-cookie') ?? '').replace(/;.*/s, '') };
}

/** Resolves, with the milliseconds that it took, once the host answers so. */
async function answers(
  server: Server,
  headers: { readonly Cookie: string },
  status: number,
): Promise<number> {
  const begun = performance.now();
  await until(async () => ((await ask(server, '/session', { headers })).status === status ? true : null));
  return performance.now() - begun;
}

t.test('who signs in on one host is signed in on all, until it is ended on any', async t => {
  const { address } = await startSingle(t);
  const one = await fleetHost(t, { address, host: 'one' });
  const two = await fleetHost(t, { address, host: 'two' });
  const made = await one.softquota(['token', 'create', '--user', 'root', '--admin', '--name', 'laptop']);
  const token = made.stdout.trim();

  const headers = await signedIn(one, token);
  await answers(two, headers, 200);
  t.match(await (await ask(two, '/session', { headers })).json(), { host: 'two', shares: true });
  const gone = await ask(two, '/session', { method: 'DELETE', headers });
  t.equal(gone.status, 204);
  t.equal((await ask(two, '/session', { headers })).status, 401, 'at once where it was ended');
  const lag = await answers(one, headers, 401);
  t.ok(lag < 2000, `on the other host after ${lag.toFixed(0)} ms`);

  const others = [await signedIn(one, token), await signedIn(one, token)];
  for (const each of others) await answers(two, each, 200);
  const revoked = await two.softquota(['token', 'revoke', 'laptop', '--user', 'root']);
  t.equal(revoked.code, 0, revoked.stderr);
  for (const server of [two, one]) {
    for (const each of others) await answers(server, each, 401);
  }
});
