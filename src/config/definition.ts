/**
 * The definition of the configuration: every section and every key, in the order in which an
 * administrator reads about them. The keys of each are defined in keys-*.ts.
 *
 * Reading, the documentation, the example file, `--print-config` and the advice for unknown
 * names all come from here, so that they cannot disagree.
 */

import type { Config } from './assemble.ts';
import { type ConfigEntry, defaultOf, type Key } from './key.ts';
import { forgeKeys, forgeValues } from './keys-forge.ts';
import { gate, lfs, routeKeys, routeSection } from './keys-gate.ts';
import { mail, webhookKeys, webhookSection } from './keys-notices.ts';
import { events, hooks, quota, quotaDefault, reclaim, requests, users } from './keys-policy.ts';
import { disk, log, metrics, security, server, store } from './keys-server.ts';
import { scan, storage, storages, visibility } from './keys-storage.ts';

export interface Section {
  readonly name: string;
  readonly doc: string;
  readonly keys: readonly Key<unknown>[];
}

function section(name: string, doc: string, keys: Readonly<Record<string, Key<unknown>>>): Section {
  return { name, doc, keys: Object.values(keys) };
}

export const sections: readonly Section[] = [
  section('quota', 'Whether, when and how a limit refuses.', quota),
  section('quota.default', 'The limit for every owner to whom no group applies.', quotaDefault),
  section('requests', 'Asking for more than the limit.', requests),
  ...storages.map(({ storage, doc, templates, owner }) =>
    section(`storage.${storage}`, doc, {
      templates,
      owner,
      ...(storage === 'repos' ? { visibility } : {}),
    }),
  ),
  section('storage', 'What concerns all storage.', storage),
  section('scan', 'How and when storage is measured.', scan),
  section('forge', 'The forge whose database is read.', forgeKeys),
  section('hooks', 'The messages to pushers.', hooks),
  section('reclaim', 'What the worker does about what no ref reaches any more.', reclaim),
  section('gate', 'What a reverse proxy asks before an upload.', gate),
  section('lfs', 'The batch endpoint of an LFS server, with softquota in front.', lfs),
  section('server', 'The daemon: its directory, sockets and address.', server),
  section('users', 'How names of owners are treated.', users),
  section('store', 'Where policy and usage are stored.', store),
  section('events', 'The record of events.', events),
  section('security', 'Encryption of stored secrets.', security),
  section('disk', 'What stays free on the disks.', disk),
  section('metrics', 'Metrics for Prometheus.', metrics),
  section('mail', 'Notices by mail.', mail),
  section('log', 'The log.', log),
];

export const allKeys: readonly Key<unknown>[] = sections.flatMap(section => section.keys);

export function findSection(name: string): Section | null {
  return sections.find(section => section.name === name) ?? ownSection(name);
}

/** A section whose name an administrator chooses; null if the name is of no such section. */
function ownSection(name: string): Section | null {
  if (webhookSection.test(name)) return section(name, webhookDoc, webhookKeys(name));
  return routeSection.test(name) ? section(name, routeDoc, routeKeys(name)) : null;
}

const webhookDoc = 'A webhook, with any name: notices are posted to its address.';

export const webhookSections = section('webhook.NAME', webhookDoc, webhookKeys('webhook.name'));

const routeDoc =
  'A route of your own, with any name: uploads to these addresses are asked about. Routes are asked in the order of the file, those that only the environment names after them by name, and those of PRESET last.';

/** Stands for all sections `[gate.NAME]`. */
export const routeSections = section('gate.NAME', routeDoc, routeKeys('gate.name'));

/** The sections of a configuration: the fixed ones, and those whose names an administrator chose. */
export function sectionsIn({ gate: { routes }, webhooks }: Config): readonly Section[] {
  const names = [
    ...routes.map(({ name }) => `gate.${name}`),
    ...webhooks.map(({ name }) => `webhook.${name}`),
  ];
  return [...sections, ...names.flatMap(name => ownSection(name) ?? [])];
}

/** The value of a key in a configuration; the default if its section is missing. */
export function valueIn(config: Config, key: Key<unknown>): unknown {
  const found = Object.entries(sectionIn(config, key.section) ?? {}).find(([field]) => field === key.field);
  return found === undefined ? defaultOf(key) : found[1];
}

function sectionIn(config: Config, section: string): object | null | undefined {
  const [kind = ''] = section.split('.', 1);
  const name = section.slice(kind.length + 1);
  if (kind === 'storage' && name !== '') return config.storages.find(one => one.kind === name);
  if (kind === 'forge') return config.forge && forgeValues(config.forge);
  if (kind === 'webhook') return config.webhooks.find(one => one.name === name);
  if (kind === 'gate' && name !== '') return config.gate.routes.find(one => one.name === name);
  return new Map<string, object>(Object.entries(config)).get(kind);
}

export function findKey(section: string, name: string): Key<unknown> | null {
  return findSection(section)?.keys.find(key => key.name === name) ?? null;
}

interface RemovedKey {
  readonly advice: string;
  /** Returns true if decisions would change without the key, so that the daemon must not start. */
  isFault?(entry: ConfigEntry, written: readonly ConfigEntry[]): boolean;
}

/** The ORDER of routes of PRESET in earlier releases, which sorted routes by ORDER, then by name. */
const presetOrder = 1000;

function isOrderedOtherwise(written: readonly ConfigEntry[]): boolean {
  const orders = new Map<string, number>();
  for (const { section } of written) if (routeSection.test(section)) orders.set(section, 0);
  for (const { section, name, text } of written) {
    if (orders.has(section) && name === 'ORDER') orders.set(section, Number(text));
  }
  const hasPresets = written.some(
    ({ section, name, text }) => section === 'gate' && name === 'PRESET' && text.trim() !== '',
  );
  if (hasPresets && [...orders.values()].some(order => order >= presetOrder)) return true;
  const before = [...orders].sort(([a, first], [b, second]) => first - second || (a < b ? -1 : 1));
  return before.map(([section]) => section).join() !== [...orders.keys()].join();
}

/** Keys of earlier releases, each written `section KEY`; `*` stands for a name. */
const removedKeys: Readonly<Record<string, RemovedKey>> = {
  'quota BURST': {
    advice: 'this key is gone, since what an allowed push brings counts at once. Remove it.',
    isFault: () => true,
  },
  'forge COUNT': {
    advice: 'this key is gone: an object counts once for an owner. Remove it.',
    isFault: ({ text }) => text.trim().toLowerCase() !== 'once',
  },
  'forge POLL': { advice: 'this key is gone: the database is asked every two seconds. Remove it.' },
  'scan VERIFY': {
    advice:
      'this key is gone: everything is verified on Sundays at 3. Remove it; to verify more often, run softquota scan --verify from cron or a timer.',
  },
  'disk WARN_FREE': { advice: 'this key is gone: administrators are warned at twice MIN_FREE. Remove it.' },
  'metrics OWNERS': {
    advice:
      'this key is gone, and softquota_owner_usage_bytes with it. Remove it; softquota usage --json and GET /api/v1/admin/quota/usage have the figures.',
  },
  'webhook.* TIMEOUT': { advice: 'this key is gone: an attempt may take 10 seconds. Remove it.' },
  'webhook.* GIVE_UP': {
    advice: 'this key is gone: what cannot be delivered is given up after three days. Remove it.',
  },
  'gate.* ORDER': {
    advice:
      'this key is gone: routes are asked in the order of the file, and those of PRESET last. Put the sections in that order, and remove it.',
    isFault: (_, written) => isOrderedOtherwise(written),
  },
  'storage.* SHARED': {
    advice:
      'this key is gone: each host says what it walks. Remove it, and set [scan] ROOTS on all hosts but the one that walks this storage (see docs/redis.md).',
    isFault: () => true,
  },
  'storage.* RULER': {
    advice:
      'this key is gone: softquota walks every directory. Remove it; to count by an attribute of the file system, report the figures with PUT /v1/sources/NAME.',
    isFault: ({ text }) => text.trim().toLowerCase() !== 'walk',
  },
};

/** A key of earlier releases; null if there was no such key. */
export function removedKey(section: string, name: string): RemovedKey | null {
  const pattern = section.replace(/^(gate|storage|webhook)\..*$/, '$1.*');
  return removedKeys[`${pattern} ${name}`] ?? null;
}

/** The known word that the fewest edits turn `word` into; null above a third of its letters. */
export function nearest(word: string, known: Iterable<string>): string | null {
  let best: string | null = null;
  let least = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const candidate of known) {
    if (Math.abs(candidate.length - word.length) >= least) continue;
    const strokes = keystrokes(word.toLowerCase(), candidate.toLowerCase());
    if (strokes < least) {
      best = candidate;
      least = strokes;
    }
  }
  return best;
}

/** The Damerau-Levenshtein distance in its restricted form (optimal string alignment). */
function keystrokes(from: string, to: string): number {
  let before: number[] = [];
  let above = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1];
      const changed = (above[column - 1] ?? 0) + (same ? 0 : 1);
      const least = Math.min(changed, (above[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1);
      const swapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      current.push(swapped ? Math.min(least, (before[column - 2] ?? least) + 1) : least);
    }
    before = above;
    above = current;
  }
  return above[to.length] ?? 0;
}
