/**
 * The git server that the pictures in docs/screenshots show: thirteen owners with repositories, LFS stores,
 * releases and packages of gigabytes, which are sparse files; months of usage and two weeks of refusals,
 * which are written as the daemon itself writes them; and a policy.
 *
 * Afterwards it can be one of several that share a quota.
 *
 * It lies at /srv and /var/lib/softquota: whoever makes it has a mount namespace in which both are his own.
 */

import { randomBytes } from 'node:crypto';
import { mkdir, open, truncate, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type PlaygroundPrograms, startDaemon } from '../src/commands/playground-world.ts';
// The one that adds refusals up: of other days than today.
import { Tally } from '../src/overview/tally.ts';
import { addBytes, type Leaf, leaves, noUsage, type Usage, usageOf } from '../src/quota/index.ts';
import { openStore } from '../src/store/index.ts';

const directory = '/var/lib/softquota';

/** The server's, while it is one of several, too. */
export const sockets = {
  admin: join(directory, 'admin.sock'),
  gate: join(directory, 'gate.sock'),
} as const;

const storages = {
  'storage.repos': '/srv/git/{owner}/{repo}.git',
  'storage.lfs': '/srv/git/{owner}/{repo}.git/lfs',
  'storage.wiki': '/srv/git/{owner}/{repo}.wiki.git',
  'storage.attachments.issues': '/srv/attachments/{owner}/issues',
  'storage.attachments.releases': '/srv/attachments/{owner}/releases',
  'storage.artifacts': '/srv/artifacts/{owner}',
  'storage.packages': '/srv/packages/{owner}',
} as const;

/** Megabytes of what an owner has; a repository's are of itself and of its LFS store. */
interface Owner {
  readonly repositories: Readonly<Record<string, readonly [own: number, lfs?: number]>>;
  readonly issues?: number;
  readonly releases?: number;
  readonly artifacts?: number;
  readonly packages?: number;
  /** Share of it that there was half a year ago. */
  readonly before: number;
}

const owners: Readonly<Record<string, Owner>> = {
  acme: {
    repositories: { api: [1840], mobile: [3120, 4260], website: [920, 1380], 'website.wiki': [14] },
    issues: 640,
    releases: 5210,
    artifacts: 7430,
    packages: 6120,
    before: 0.52,
  },
  alice: {
    repositories: { 'game-assets': [410, 6930], dotfiles: [3], site: [1260, 520], thesis: [780] },
    issues: 85,
    releases: 1340,
    artifacts: 460,
    before: 0.4,
  },
  bob: {
    repositories: { notes: [212], 'photo-archive': [96, 7820], scripts: [8] },
    issues: 12,
    packages: 730,
    before: 0.61,
  },
  carol: { repositories: { compiler: [1910], 'compiler.wiki': [22], papers: [340, 610] }, before: 0.83 },
  dora: { repositories: { firmware: [2240], gerbers: [530, 1180] }, releases: 2310, before: 0.55 },
  emil: { repositories: { kernel: [4870] }, artifacts: 190, before: 0.97 },
  'field-station': { repositories: { readings: [6240, 13_100], plots: [380] }, before: 0.31 },
  grace: { repositories: { cobol: [118] }, before: 0.9 },
  hedy: { repositories: { hopping: [44], recordings: [61, 4390] }, before: 0.72 },
  lab: { repositories: { models: [210, 21_800], training: [1630] }, artifacts: 3980, before: 0.28 },
  linus: { repositories: { 'dive-log': [905], subsurface: [2760] }, packages: 410, before: 0.88 },
  margaret: { repositories: { guidance: [1490] }, issues: 31, before: 1 },
  radia: { repositories: { 'spanning-tree': [88], bridges: [19] }, before: 0.93 },
};

export const organizations = ['acme', 'field-station', 'lab'] as const;

/** Makes it, and resolves with its daemon once all is measured; `rootUrl` is where it is seen. */
export async function pictured(rootUrl: string, port: number): Promise<PlaygroundPrograms> {
  await makeFiles();
  const server: Settings = { name: 'git-one', directory, sockets, rootUrl, port, storages };
  await (await start(server)).stop();
  await writePast();
  return start(server);
}

/**
 * Starts the server again, with two others, once the first daemon has ended. They share a new policy, and the
 * third has gone.
 */
export async function picturedFleet(
  rootUrl: string,
  port: number,
  redisPort: number,
): Promise<Pick<PlaygroundPrograms, 'stop'>> {
  const first = join(directory, 'git-one');
  const one = { name: 'git-one', directory: first, sockets, rootUrl, port, storages, redisPort };
  const begun = [await start(one)];
  for (const [name, megabytes] of Object.entries({ 'git-two': 8130, 'git-three': 2470 })) {
    await bareRepository(`/srv/${name}/museum/scans.git`, megabytes);
    const own = join(directory, name);
    begun.push(
      await start({
        name,
        directory: own,
        sockets: { admin: join(own, 'admin.sock'), gate: join(own, 'gate.sock') },
        rootUrl,
        port: 0,
        storages: { 'storage.repos': `/srv/${name}/{owner}/{repo}.git` },
        redisPort,
      }),
    );
  }
  await begun.pop()?.stop();
  return {
    stop: async () => {
      await Promise.all(begun.map(daemon => daemon.stop()));
    },
  };
}

interface Settings {
  /** Name of the host. */
  readonly name: string;
  readonly directory: string;
  readonly sockets: { readonly admin: string; readonly gate: string };
  readonly rootUrl: string;
  readonly port: number;
  readonly storages: Readonly<Record<string, string>>;
  /** Port of the Redis that it shares with others; without it, the host stands alone. */
  readonly redisPort?: number;
}

/** Resolves once all is measured. */
async function start(settings: Settings): Promise<PlaygroundPrograms> {
  const { directory, sockets } = settings;
  await mkdir(directory, { recursive: true });
  const config = join(directory, 'app.ini');
  await writeFile(config, configuration(settings));
  return startDaemon({
    directory,
    config,
    socket: sockets.gate,
    adminSocket: sockets.admin,
    clear: async () => {},
  });
}

function configuration({ name, directory, sockets, rootUrl, port, storages, redisPort }: Settings): string {
  const paths = Object.entries(storages).map(([section, path]) => `[${section}]\nPATH = ${path}\n`);
  const shared = `[store]
ADAPTER = redis
HOST = redis://127.0.0.1:${redisPort}/0

[security]
SECRET_KEY = the same on all of them and of no use elsewhere
`;
  return `[server]
DATA_PATH = ${directory}
SOCKET = ${sockets.gate}
ADMIN_SOCKET = ${sockets.admin}
ROOT_URL = ${rootUrl}
HTTP_PORT = ${port}
HOST_ID = ${name}

[quota]
ENABLED = true
DEFAULT_GROUPS = free

[hooks]
CONTACT = https://git.example/help/quota

[webhook.chat]
URL = https://chat.example/hooks/softquota
SECRET = whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw
EVENTS = threshold, policy

${redisPort === undefined ? '' : `${shared}\n`}${paths.join('\n')}`;
}

async function makeFiles(): Promise<void> {
  for (const [owner, { repositories, ...others }] of Object.entries(owners)) {
    for (const [name, [own, lfs = 0]] of Object.entries(repositories)) {
      const bare = `/srv/git/${owner}/${name}.git`;
      await bareRepository(bare, own);
      if (isPublic(owner)) await writeFile(join(bare, 'git-daemon-export-ok'), '');
      if (lfs > 0) await sparse(join(bare, `lfs/objects/4e/18/${randomBytes(32).toString('hex')}`), lfs);
    }
    const { issues = 0, releases = 0, artifacts = 0, packages = 0 } = others;
    if (issues > 0) await sparse(`/srv/attachments/${owner}/issues/1f/screenshots`, issues);
    if (releases > 0) await sparse(`/srv/attachments/${owner}/releases/8c/v2.4.0.tar.zst`, releases);
    if (artifacts > 0) await sparse(`/srv/artifacts/${owner}/3107/build.zip`, artifacts);
    if (packages > 0) await sparse(`/srv/packages/${owner}/container/layer.tar`, packages);
  }
}

async function bareRepository(path: string, megabytes: number): Promise<void> {
  await mkdir(join(path, 'refs/heads'), { recursive: true });
  await writeFile(join(path, 'HEAD'), 'ref: refs/heads/main\n');
  await sparse(join(path, `objects/pack/pack-${randomBytes(20).toString('hex')}.pack`), megabytes);
}

/** Every third or so. */
function isPublic(owner: string): boolean {
  return owner.length % 3 === 2 || owner === 'acme';
}

async function sparse(path: string, megabytes: number): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await (await open(path, 'w')).close();
  // No size is a round one.
  await truncate(path, megabytes * 1_000_000 + ((megabytes * 7919) % 1_000_000));
}

const hourMs = 3_600_000;
const days = 180;

/** Twice a day for half a year, until this hour; and refusals of the last two weeks. */
async function writePast(): Promise<void> {
  const now = Date.now();
  const store = await openStore({ file: join(directory, 'softquota.db') });
  const { owners: known } = await store.load();
  const present = new Map<string, Usage>();
  for await (const units of store.units()) {
    for (const { owner, leaf, bytes } of units) {
      if (owner === null) continue;
      present.set(owner, sum(present.get(owner) ?? noUsage, usageOf({ [leaf]: bytes })));
    }
  }
  for (let ago = days * 24; ago >= 12; ago -= 12) {
    const at = now - ago * hourMs;
    const then = known.map(({ id, name }) => ({
      ownerId: id,
      usage: past(present.get(name) ?? noUsage, owners[name]?.before ?? 1, ago / (days * 24)),
    }));
    const hour = Math.floor(at / hourMs);
    await store.recordOwners(hour, then);
    const usage = then.reduce((all, each) => sum(all, each.usage), noUsage);
    await store.recordHour({ hour, at, usage });
  }
  const tally = new Tally('git.example');
  for (const { ago, owner, actor = owner, leaf, times } of refusals) {
    const record = known.find(({ name }) => name === owner);
    const total = present.get(owner)?.reduce(addBytes, 0) ?? 0;
    const decision = {
      by: 'rule',
      allowed: false,
      step: 'assigned',
      used: total,
      limit: 10e9,
      group: 'free',
      rule: 'ten-gigabytes',
      subjects: ['size:all'],
      reserved: 0,
      incoming: 0,
      warnPercent: null,
    } as const;
    for (let count = 0; count < times; count++) {
      const refusal = { owner, subject: leaf, actor, decision, mode: 'enforce' } as const;
      tally.add(refusal, { key: record?.key ?? owner, record }, now - ago * 24 * hourMs);
    }
  }
  await store.write({ events: tally.take() });
  await store.close();
}

function sum(a: Usage, b: Usage): Usage {
  return a.map((bytes, index) => addBytes(bytes, b[index] ?? 0));
}

/** `back`: 1 is half a year ago, 0 is now. Each kind has grown in its own way, in steps. */
function past(usage: Usage, before: number, back: number): Usage {
  return usage.map((bytes, index) => {
    const wave = Math.sin(back * (19 + index * 5) + index) * 0.02 * back;
    const step = Math.round(back * 60 * (1 + (index % 3))) / (60 * (1 + (index % 3)));
    const bent = index % 2 === 0 ? step : Math.sqrt(step);
    return Math.max(0, Math.round(bytes * (1 - (1 - before) * bent + wave)));
  });
}

interface Refused {
  /** In days. */
  readonly ago: number;
  readonly owner: string;
  readonly actor?: string;
  readonly leaf: Leaf;
  readonly times: number;
}

const [, repositories = 'size:repos:private', lfs = 'size:git:lfs'] = leaves;

const refusals: readonly Refused[] = [
  { ago: 12.2, owner: 'alice', leaf: lfs, times: 2 },
  { ago: 9.1, owner: 'alice', leaf: repositories, times: 1 },
  { ago: 8.3, owner: 'alice', leaf: lfs, times: 4 },
  { ago: 6.4, owner: 'alice', actor: 'hedy', leaf: repositories, times: 3 },
  { ago: 5.2, owner: 'alice', leaf: lfs, times: 7 },
  { ago: 2.6, owner: 'alice', leaf: lfs, times: 3 },
  { ago: 1.3, owner: 'alice', leaf: repositories, times: 2 },
  { ago: 0.1, owner: 'alice', leaf: lfs, times: 5 },
];
