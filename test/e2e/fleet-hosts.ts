/** Git servers with one quota, each a folder with a daemon of its own, over one Redis. */

import type { Test } from 'tap';
import { type Answer, until } from './ask.ts';
import { type Ini, Server, type ServerOptions } from './server.ts';

export interface FleetHostOptions extends ServerOptions {
  /** `[store] HOST`. */
  readonly address: string;
  /** `[server] HOST_ID`. */
  readonly host: string;
}

export async function fleetHost(
  t: Test,
  { address, host, ini = {}, ...options }: FleetHostOptions,
): Promise<Server> {
  const shared: Ini = {
    ...ini,
    server: { HOST_ID: host, ...ini.server },
    store: { ADAPTER: 'redis', HOST: address, ...ini.store },
    security: { SECRET_KEY: 'the same on each of the hosts of the fleet', ...ini.security },
  };
  return Server.open(t, { ...options, ini: shared });
}

/** A call of the administrator's API that has to succeed. */
export async function ruled(
  on: Server,
  path: string,
  question: Parameters<Server['ask']>[2] = {},
): Promise<unknown> {
  const answer = await rule(on, path, question);
  if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${answer.text}`);
  return answer.text === '' ? null : JSON.parse(answer.text);
}

/** Sends a request to the API of quotas, and returns the answer whatever it is. */
export function rule(on: Server, path: string, question: Parameters<Server['ask']>[2] = {}): Promise<Answer> {
  return on.ask('admin', `/api/v1/admin/quota${path}`, question);
}

/** Tells whether the owner may push now, as this host's gate says. */
export async function mayPush(on: Server, owner: string): Promise<boolean> {
  const { status } = await on.ask('gate', `/v1/check?owner=${owner}&subject=size:repos:private`);
  return status === 200;
}

/** Resolves, with the milliseconds that it took, once the gate says so. */
export async function mayPushIs(on: Server, owner: string, may: boolean): Promise<number> {
  const begun = performance.now();
  await until(
    async () => ((await mayPush(on, owner)) === may ? true : null),
    () => `${owner} may push: still ${!may}`,
  );
  return performance.now() - begun;
}
