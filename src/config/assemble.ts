/** From given values to a Config: defaults filled in, paths absolute, contradictions found. */

import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { type Config, sectionKeys } from './config.ts';
import type { ConfigEntry, ConfigFault } from './fault.ts';
import { type Key, Values, withoutEffect } from './key.ts';
import { forgeSettings, notesOnForge, refuseCaseOfForge } from './keys-forge.ts';
import { ownRoutes } from './keys-gate.ts';
import { mail, mailSettings, webhookSettings } from './keys-notices.ts';
import { security, server, store } from './keys-server.ts';
import { scan, storages } from './keys-storage.ts';
import { storageSettings, walkedDirectories } from './storage.ts';

interface Assembled {
  /** Not to be used where there are faults. */
  readonly config: Config;
  readonly faults: readonly ConfigFault[];
  readonly notes: readonly string[];
}

/** `base`: the folder that relative paths count from; of two entries of one key the later counts. */
export function assemble(entries: readonly ConfigEntry[], file: string | null, base: string): Assembled {
  const values = new Values(entries);
  const dataPath = resolve(base, values.take(server.dataPath));
  const socketAt = (key: Key<string | null>, name: string): string => {
    const given = values.take(key);
    return given === null ? join(dataPath, name) : resolve(base, given);
  };
  const plain = values.takeSections(sectionKeys);
  const config: Config = {
    ...plain,
    file,
    server: {
      ...plain.server,
      dataPath,
      socket: socketAt(server.socket, 'gate.sock'),
      trustedSocket: socketAt(server.trustedSocket, 'trusted.sock'),
      adminSocket: socketAt(server.adminSocket, 'admin.sock'),
    },
    quota: { ...plain.quota, warnAt: [...plain.quota.warnAt].sort((a, b) => a - b) },
    storages: storageSettings(values, base),
    forge: forgeSettings(values, base),
    scan: {
      ...plain.scan,
      roots: walkedDirectories(values, base),
      workers: plain.scan.workers ?? Math.min(availableParallelism(), 4),
    },
    gate: { ...plain.gate, routes: ownRoutes(entries, values) },
    webhooks: webhookSettings(entries, values),
    mail: mailSettings(values, base, plain.server.rootUrl),
  };
  refuseBadSockets(config, values);
  refuseCaseOfForge(config.forge, values);
  refuseForSharedStore(config, values);
  refuseRootsAlone(config, values);
  return {
    config: deepFreeze(config),
    faults: values.faults,
    notes: notesOn(config, values),
  };
}

/** The most bytes that the system takes for a Unix socket's path; Node cuts a longer one without a word. */
const longestSocketPath = process.platform === 'darwin' ? 103 : 107;

function refuseBadSockets(config: Config, values: Values): void {
  const sockets = [
    [server.socket, config.server.socket],
    [server.trustedSocket, config.server.trustedSocket],
    [server.adminSocket, config.server.adminSocket],
  ] as const;
  const seen = new Map<string, string>();
  for (const [key, path] of sockets) {
    const bytes = Buffer.byteLength(path);
    const twin = seen.get(path);
    if (bytes > longestSocketPath) {
      const size = `${bytes} bytes long, and this system takes ${longestSocketPath}`;
      values.refuse(key, `the path ${path} is ${size}. Give a shorter ${key.name} or DATA_PATH.`);
    } else if (twin !== undefined) {
      values.refuse(key, `the path ${path} is also the path of ${twin}. Each socket needs its own path.`);
    }
    seen.set(path, key.name);
  }
}

/** A store that hosts share needs a name and a key that they agree upon. */
function refuseForSharedStore(config: Config, values: Values): void {
  if (config.store.adapter === 'sqlite') return;
  // A name that is made up would be another one after DATA_PATH is lost, and what the host said would count
  // twice.
  if (config.server.hostId === null) {
    values.refuse(
      store.adapter,
      '[store] ADAPTER = redis needs [server] HOST_ID, a name for this host that no other host uses.',
    );
  }
  // The other hosts have to read what one host encrypts. A value that is no key is its own fault.
  if (config.security.secretKeys.length === 0 && !values.isFaulty(security.secretKeys)) {
    values.refuse(
      store.adapter,
      '[store] ADAPTER = redis needs [security] SECRET_KEY, the same on each host. Write at least 32 characters that nobody can guess, such as openssl rand -base64 32 gives.',
    );
  }
}

/** Nobody else walks the rest if nobody shares the quota. */
function refuseRootsAlone(config: Config, values: Values): void {
  if (config.store.adapter === 'redis' || config.scan.roots === null) return;
  const where =
    'this host does not share its quota, so it has to walk all. ROOTS needs [store] ADAPTER = redis.';
  values.refuse(scan.roots, where);
}

function notesOn(config: Config, values: Values): string[] {
  const idle = storages
    .filter(({ templates }) => !values.isGiven(templates))
    .flatMap(({ templates, owner }) => withoutEffect(values, templates, [owner]));
  const unsent = config.mail === null ? withoutEffect(values, mail.host, Object.values(mail)) : [];
  const { garbage } = config.quota;
  const unmeasured =
    garbage === 'forgive' && config.reclaim.run === 'never'
      ? ['[quota] GARBAGE = forgive forgives nothing with [reclaim] RUN = never: nobody measures it.']
      : [];
  const blind =
    config.quota.enabled && config.storages.length === 0 && config.forge === null
      ? ['No [storage.*] section has a PATH: only what trusted programs report is counted.']
      : [];
  return [...idle, ...notesOnForge(config.forge, values), ...unsent, ...unmeasured, ...blind];
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const inner of Object.values(value)) deepFreeze(inner);
    Object.freeze(value);
  }
  return value;
}
