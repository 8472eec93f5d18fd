/** All that answers: the gate, the trusted gate, and the API on its socket and its address. */

import { Gate, type GateServices } from '../gate/index.ts';
import { notReady } from '../health/index.ts';
import { inheritedSockets, type SocketName, type SocketPlace } from '../sockets/index.ts';
import { synchronizeClaimed } from '../sources/index.ts';
import { openApi, type ServedParts } from './api.ts';

export interface ServersOptions extends ServedParts {
  /** Says which sockets the service manager hands over. */
  readonly env: NodeJS.ProcessEnv;
}

interface Open {
  close(): Promise<void>;
}

/**
 * All of them or none; rejects with `configuration`. `url` is what HTTP is served at; `close` answers what is under
 * way.
 */
export async function openServers(options: ServersOptions): Promise<Open & { readonly url: string }> {
  const { current, env } = options;
  const { server } = current.config;
  const services = gateServices(options);
  const inherited = inheritedSockets(env, process.pid);
  const place = (name: SocketName, made: SocketPlace): SocketPlace => {
    const descriptor = inherited.get(name);
    return descriptor === undefined ? made : { ...made, descriptor };
  };
  const gates: readonly (() => Promise<Gate>)[] = [
    () =>
      Gate.open(
        services,
        place('gate', {
          path: server.socket,
          mode: server.socketMode,
          group: server.socketGroup,
          setting: '[server] SOCKET',
        }),
        'anybody',
      ),
    () =>
      Gate.open(
        services,
        place('trusted', {
          path: server.trustedSocket,
          mode: server.trustedMode,
          group: server.trustedGroup,
          setting: '[server] TRUSTED_SOCKET',
        }),
        'trusted',
      ),
  ];
  const opened: Open[] = [];
  const close = async () => {
    await Promise.all(opened.map(each => each.close()));
  };
  try {
    for (const open of gates) opened.push(await open());
    const api = await openApi(
      { ...options, unforeseen: services.unforeseen },
      place('admin', {
        path: server.adminSocket,
        mode: 0o600,
        group: null,
        setting: '[server] ADMIN_SOCKET',
      }),
    );
    opened.push(api);
    return { url: api.url, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function gateServices({
  current,
  events,
  fleet,
  ledger,
  measuring,
  unasked,
  log,
}: ServersOptions): GateServices {
  return {
    ledger,
    synchronize: claimed =>
      synchronizeClaimed({ ledger, autoCreate: current.config.users.autoCreate, log }, claimed, null),
    locate: path => measuring.locate(path),
    measureSoon: path => measuring.measureSoon(path),
    letThrough: path => measuring.letThrough(path),
    contact: () => current.config.hooks.contact,
    refused: refusal => {
      events.refused(refusal);
      const { decision, ...record } = refusal;
      const { used, limit, group, rule } = decision;
      const what = record.mode === 'report' ? 'would be refused' : 'refused';
      log.info({ ...record, used, limit, group, rule }, what);
    },
    unasked: report => unasked.record(report),
    health: () => ({
      reasons: notReady({ ledger, rootsAway: measuring.rootsAway, hangs: measuring.hangs, fleet }),
    }),
    unforeseen: error => log.error({ err: error }, "a mistake of softquota's own"),
  };
}
