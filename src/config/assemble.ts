/** Makes a Config of given values: fills in defaults, makes paths absolute, and finds contradictions. */

import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import type { ForgeSettings } from '../forge/index.ts';
import {
  isWithin,
  parseTemplate,
  type StorageKind,
  type StorageSettings,
  type Template,
  type UploadRoute,
  type Visibility,
} from '../layout/index.ts';
import type { AskedHere } from '../quota/index.ts';
import { type ConfigEntry, type ConfigFault, type Key, Values, type ValuesOf, withoutEffect } from './key.ts';
import { forgeKeys, forgeSettings, notesOnForge } from './keys-forge.ts';
import { askedIn, gate, lfs, ownRoutes } from './keys-gate.ts';
import {
  type MailSettings,
  mail,
  mailSettings,
  type WebhookSettings,
  webhookSettings,
} from './keys-notices.ts';
import { events, hooks, quota, quotaDefault, reclaim, requests, users } from './keys-policy.ts';
import { disk, log, metrics, security, server, store } from './keys-server.ts';
import { scan, storage, storages as storageSections, visibility } from './keys-storage.ts';

interface Assembled {
  /** Must not be used if there are faults. */
  readonly config: Config;
  readonly faults: readonly ConfigFault[];
  readonly notes: readonly string[];
}

/** `base`: the folder of relative paths. The later of two entries of one key counts. */
export function assemble(entries: readonly ConfigEntry[], file: string | null, base: string): Assembled {
  const values = new Values(entries);
  const dataPath = resolve(base, values.take(server.dataPath));
  const socketAt = (key: Key<string | null>, name: string): string => {
    const given = values.take(key);
    return given === null ? join(dataPath, name) : resolve(base, given);
  };
  const plain = values.takeSections(sectionKeys);
  const absolute = (places: readonly string[]) => places.map(place => resolve(base, place));
  const follow = absolute(plain.storage.follow);
  const roots = plain.scan.roots === null ? null : absolute(plain.scan.roots);
  const storages = storageSettings(values, base, roots, follow);
  const forge = forgeSettings(values, base);
  const gateSettings = { ...plain.gate, routes: ownRoutes(entries, values) };
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
    quota: {
      ...plain.quota,
      warnAt: [...plain.quota.warnAt].sort((a, b) => a - b),
      asked: askedIn({ gate: gateSettings, lfs: plain.lfs, storages, forge }),
    },
    storage: { follow },
    storages,
    forge,
    scan: {
      ...plain.scan,
      roots,
      workers: plain.scan.workers ?? Math.min(availableParallelism(), 4),
    },
    gate: gateSettings,
    webhooks: webhookSettings(entries, values),
    mail: mailSettings(values, base, plain.server.rootUrl),
  };
  refuseBadSockets(config, values);
  refuseForSharedStore(config, values);
  refuseRootsAlone(config, values);
  return {
    config: deepFreeze(config),
    faults: values.faults,
    notes: notesOn(config, values),
  };
}

/** Longest path of a Unix socket in bytes; Node truncates a longer one without an error. */
export const longestSocketPath = process.platform === 'linux' ? 107 : 103;

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

/** A shared store needs a name for this host, and the same key on each host. */
function refuseForSharedStore(config: Config, values: Values): void {
  if (config.store.adapter === 'sqlite') return;
  // A random name would change if DATA_PATH is lost, and the usage of this host would count twice.
  if (config.server.hostId === null) {
    const message =
      '[store] ADAPTER = redis needs [server] HOST_ID, a name for this host that no other host uses.';
    values.refuse(store.adapter, message);
  }
  // The other hosts have to decrypt what one host encrypts. An invalid key is reported already.
  if (config.security.secretKeys.length === 0 && !values.isFaulty(security.secretKeys)) {
    const message =
      '[store] ADAPTER = redis needs [security] SECRET_KEY, the same on each host. Write at least 32 characters that nobody can guess, such as openssl rand -base64 32 gives.';
    values.refuse(store.adapter, message);
  }
}

function refuseRootsAlone(config: Config, values: Values): void {
  if (config.store.adapter === 'redis' || config.scan.roots === null) return;
  const where =
    'this host does not share its quota, so it has to walk all. ROOTS needs [store] ADAPTER = redis.';
  values.refuse(scan.roots, where);
}

function notesOn(config: Config, values: Values): string[] {
  const idle = storageSections
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

/** The keys whose values a `Config` has under the name of their section. */
const sectionKeys = {
  server,
  quota: { ...quota, ...quotaDefault },
  store,
  users,
  storage,
  scan,
  requests,
  hooks,
  reclaim,
  gate,
  lfs,
  events,
  security,
  disk,
  metrics,
  log,
};

type Plain = {
  readonly [Section in keyof typeof sectionKeys]: ValuesOf<(typeof sectionKeys)[Section]>;
};

/** The configuration as other modules see it: paths are absolute, and everything is frozen. */
export interface Config extends Plain {
  /** The configuration file; null if there is only the environment. */
  readonly file: string | null;
  readonly server: Plain['server'] & {
    readonly socket: string;
    readonly trustedSocket: string;
    readonly adminSocket: string;
  };
  readonly quota: Plain['quota'] & { readonly asked: AskedHere };
  /** The `[storage.*]` sections with a PATH, in the order of `storageKinds`. */
  readonly storages: readonly StorageSettings[];
  readonly forge: ForgeSettings | null;
  readonly scan: Plain['scan'] & { readonly workers: number };
  /** `routes`: the `[gate.NAME]` sections, in the order in which they are asked. */
  readonly gate: Plain['gate'] & { readonly routes: readonly UploadRoute[] };
  /** The `[webhook.NAME]` sections, by name. */
  readonly webhooks: readonly WebhookSettings[];
  readonly mail: MailSettings | null;
}

/**
 * The sections that have a PATH; `base` is the folder of relative templates. `walked`: the directories that
 * this host walks; null: all.
 */
function storageSettings(
  values: Values,
  base: string,
  walked: readonly string[] | null,
  follow: readonly string[],
): readonly StorageSettings[] {
  const seen = new Map<string, string>();
  const beginnings = new Set<string>();
  const visible = visibilityIn(values);
  const sections = storageSections.flatMap(({ storage, templates: path, owner }) => {
    const source = values.take(owner);
    if (source.by === 'git-config' && storage !== 'repos' && storage !== 'wiki') {
      const message = 'git-config is not possible here, but only in [storage.repos] and [storage.wiki].';
      values.refuse(owner, message);
    }
    if (source.by === 'forge' && !canForgeTell(values, storage)) {
      const message =
        'forge is possible only with [forge] KIND = gitlab, in [storage.repos] and [storage.wiki]; the paths of other forges say whose a repository is.';
      values.refuse(owner, message);
    }
    const templates: Template[] = [];
    for (const text of values.take(path)) {
      const parsed = parseTemplate(absoluteTemplate(text, base));
      if (!parsed.ok) {
        values.refuse(path, `"${text}" is not a template: ${parsed.problem}.`);
        continue;
      }
      const template = parsed.value;
      const twin = seen.get(template.text);
      if (twin !== undefined) {
        const message = `"${template.text}" is already in [${twin}]. Each directory can be in one section only.`;
        values.refuse(path, message);
      }
      if (!template.hasOwner && source.by === 'path' && !values.isFaulty(owner)) {
        const advice = 'Add {owner} to the path, or set OWNER';
        values.refuse(path, `"${text}" has no {owner}, and OWNER is path. ${advice}.`);
      }
      seen.set(template.text, `storage.${storage}`);
      templates.push(template);
    }
    if (templates.length === 0) return [];
    const elsewhere = templates.filter(({ fixed }) => walked?.some(root => isWithin(fixed, root)) === false);
    for (const { fixed } of templates) beginnings.add(fixed);
    const settings: StorageSettings = {
      kind: storage,
      templates: templates.map(template => template.text),
      owner: source,
      visibility: storage === 'repos' ? visible : 'export-ok',
      ...(elsewhere.length === 0 ? {} : { elsewhere: elsewhere.map(({ text }) => text) }),
      ...(follow.length === 0 ? {} : { follow }),
    };
    return [settings];
  });
  for (const root of walked ?? []) {
    if ([...beginnings].some(fixed => isWithin(fixed, root))) continue;
    const known = beginnings.size === 0 ? 'none' : [...beginnings].join(', ');
    values.refuse(scan.roots, `no PATH begins in ${root}. The directories that they begin with: ${known}.`);
  }
  return sections;
}

function canForgeTell(values: Values, storage: StorageKind): boolean {
  const isRepository = storage === 'repos' || storage === 'wiki';
  return isRepository && values.take(forgeKeys.kind) === 'gitlab';
}

/** With a forge, its database says what is public, unless VISIBILITY is given. */
function visibilityIn(values: Values): Visibility {
  const written = values.take(visibility);
  const hasForge = values.take(forgeKeys.kind) !== null;
  if (hasForge && !values.isGiven(visibility)) return 'forge';
  if (written === 'forge' && !hasForge) {
    values.refuse(visibility, 'forge needs [forge] KIND, which says whose database tells.');
  }
  return written;
}

/** Resolves only leading `.` and `..` of a relative path; the parser of templates judges the rest. */
function absoluteTemplate(text: string, base: string): string {
  if (text.startsWith('/')) return text;
  const dots = /^(?:\.\.?(?:\/+|$))*/.exec(text)?.[0] ?? '';
  return `${resolve(base, dots)}/${text.slice(dots.length)}`;
}
