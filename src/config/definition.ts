/**
 * The definition of the configuration: every section and every key, in the order in which an
 * administrator reads about them. The keys of each stand in keys-*.ts.
 *
 * Reading, the documentation, the example file, `--print-config` and the advice for unknown
 * names all come from here, so that none of them can know something else.
 */

import type { Config } from './config.ts';
import type { ConfigEntry } from './fault.ts';
import type { Key } from './key.ts';
import { forgeKeys } from './keys-forge.ts';
import { gate, lfs, routeKeys, routeSection } from './keys-gate.ts';
import { mail, webhookKeys, webhookSection } from './keys-notices.ts';
import { events, hooks, quota, quotaDefault, reclaim, requests, users } from './keys-policy.ts';
import { disk, log, metrics, security, server, store } from './keys-server.ts';
import { scan, storages, visibility } from './keys-storage.ts';

export interface Section {
  /** In lower case. */
  readonly name: string;
  readonly doc: string;
  readonly keys: readonly Key<unknown>[];
}

const storageDocs = {
  repos: 'Git repositories.',
  wiki: 'Wikis, which are also git repositories.',
  lfs: 'Files of git-lfs.',
  'attachments.issues': 'Files attached to issues and comments.',
  'attachments.releases': 'Files attached to releases.',
  artifacts: 'Artifacts of continuous integration.',
  packages: 'Packages of a registry.',
} as const;

export const sections: readonly Section[] = [
  { name: 'quota', doc: 'Whether, when and how a limit refuses.', keys: Object.values(quota) },
  {
    name: 'quota.default',
    doc: 'The limit for every owner to whom no group applies.',
    keys: Object.values(quotaDefault),
  },
  { name: 'requests', doc: 'Asking for more than the limit.', keys: Object.values(requests) },
  ...storages.map(({ storage, templates, owner, shared }) => ({
    name: `storage.${storage}`,
    doc: storageDocs[storage],
    keys: storage === 'repos' ? [templates, owner, visibility, shared] : [templates, owner, shared],
  })),
  { name: 'scan', doc: 'How and when storage is measured.', keys: Object.values(scan) },
  { name: 'forge', doc: 'The forge whose database is read.', keys: Object.values(forgeKeys) },
  { name: 'hooks', doc: 'The messages to pushers.', keys: Object.values(hooks) },
  {
    name: 'reclaim',
    doc: 'What the worker does about what no ref reaches any more.',
    keys: Object.values(reclaim),
  },
  { name: 'gate', doc: 'What a reverse proxy asks before an upload.', keys: Object.values(gate) },
  {
    name: 'lfs',
    doc: 'The batch endpoint of an LFS server, with softquota in front.',
    keys: Object.values(lfs),
  },
  { name: 'server', doc: 'The daemon: its directory, sockets and address.', keys: Object.values(server) },
  { name: 'users', doc: 'How names of owners are treated.', keys: Object.values(users) },
  { name: 'store', doc: 'Where policy and usage are stored.', keys: Object.values(store) },
  { name: 'events', doc: 'The record of events.', keys: Object.values(events) },
  { name: 'security', doc: 'Encryption of stored secrets.', keys: Object.values(security) },
  { name: 'disk', doc: 'What stays free on the disks.', keys: Object.values(disk) },
  { name: 'metrics', doc: 'Metrics for Prometheus.', keys: Object.values(metrics) },
  { name: 'mail', doc: 'Notices by mail.', keys: Object.values(mail) },
  { name: 'log', doc: 'The log.', keys: Object.values(log) },
];

export const allKeys: readonly Key<unknown>[] = sections.flatMap(section => section.keys);

/** The section of a name in lower case, or null. */
export function findSection(name: string): Section | null {
  return sections.find(section => section.name === name) ?? ownSection(name);
}

/** A section whose name an administrator chooses; null where it is none. */
function ownSection(name: string): Section | null {
  if (webhookSection.test(name)) {
    return { name, doc: webhookDoc, keys: Object.values(webhookKeys(name)) };
  }
  if (!routeSection.test(name)) return null;
  return { name, doc: routeDoc, keys: Object.values(routeKeys(name)) };
}

const webhookDoc = 'A webhook, with any name: notices are posted to its address.';

/** Stands for all sections of webhooks. */
export const webhookSections: Section = {
  name: 'webhook.NAME',
  doc: webhookDoc,
  keys: Object.values(webhookKeys('webhook.name')),
};

const routeDoc =
  'A route of your own, with any name: uploads to these addresses are asked about. Routes are asked in the order of the file, those that only the environment names after them by name, and those of PRESET last.';

/** Section that stands for all whose names an administrator chooses. */
export const routeSections: Section = {
  name: 'gate.NAME',
  doc: routeDoc,
  keys: Object.values(routeKeys('gate.name')),
};

/** The sections of a configuration: those that always are, and an administrator's own. */
export function sectionsIn({ gate: { routes }, webhooks }: Config): readonly Section[] {
  const names = [
    ...routes.map(({ name }) => `gate.${name}`),
    ...webhooks.map(({ name }) => `webhook.${name}`),
  ];
  return [...sections, ...names.flatMap(name => ownSection(name) ?? [])];
}

/** The key of a section and a name in capitals, or null. */
export function findKey(section: string, name: string): Key<unknown> | null {
  return findSection(section)?.keys.find(key => key.name === name) ?? null;
}

/** A key of the release before. */
interface RemovedKey {
  /** Says what to do about it. */
  readonly advice: string;
  /**
   * Tells whether something would be decided otherwise without the value, so that the daemon must not start; never
   * unless given. `written` is all that was written, in the order of the file.
   */
  isFault?(entry: ConfigEntry, written: readonly ConfigEntry[]): boolean;
}

/** The release before asked routes by ORDER and then by name, and those of PRESET as if they had this ORDER. */
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
const removedKeys: ReadonlyMap<string, RemovedKey> = new Map<string, RemovedKey>([
  [
    'quota BURST',
    {
      advice: 'this key is gone, since what an allowed push brings counts at once. Remove it.',
      isFault: () => true,
    },
  ],
  [
    'forge COUNT',
    {
      advice: 'this key is gone: an object counts once for an owner. Remove it.',
      isFault: ({ text }) => text.trim().toLowerCase() !== 'once',
    },
  ],
  ['forge POLL', { advice: 'this key is gone: the database is asked every two seconds. Remove it.' }],
  [
    'scan VERIFY',
    {
      advice:
        'this key is gone: everything is verified on Sundays at 3. Remove it; to verify more often, run softquota scan --verify from cron or a timer.',
    },
  ],
  ['disk WARN_FREE', { advice: 'this key is gone: administrators are warned at twice MIN_FREE. Remove it.' }],
  [
    'metrics OWNERS',
    {
      advice:
        'this key is gone, and softquota_owner_usage_bytes with it. Remove it; softquota usage --json and GET /api/v1/admin/quota/usage have the figures.',
    },
  ],
  ['webhook.* TIMEOUT', { advice: 'this key is gone: an attempt may take 10 seconds. Remove it.' }],
  [
    'webhook.* GIVE_UP',
    { advice: 'this key is gone: what cannot be delivered is given up after three days. Remove it.' },
  ],
  [
    'gate.* ORDER',
    {
      advice:
        'this key is gone: routes are asked in the order of the file, and those of PRESET last. Put the sections in that order, and remove it.',
      isFault: (_, written) => isOrderedOtherwise(written),
    },
  ],
  [
    'storage.* RULER',
    {
      advice:
        'this key is gone: softquota walks every directory. Remove it; to count by an attribute of the file system, report the figures with PUT /v1/sources/NAME.',
      isFault: ({ text }) => text.trim().toLowerCase() !== 'walk',
    },
  ],
]);

/** Null: the release before had no such key. */
export function removedKey(section: string, name: string): RemovedKey | null {
  const pattern = section.replace(/^(gate|storage|webhook)\..*$/, '$1.*');
  return removedKeys.get(`${pattern} ${name}`) ?? null;
}
