/** Git servers with one quota, each a folder with a daemon of its own, over one Redis. */

import type { Test } from 'tap';
import { until } from './ask.ts';
import { type Ini, Server, type ServerOptions } from './server.ts';

interface FleetHostOptions extends ServerOptions {
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
