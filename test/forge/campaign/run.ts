/**
 * Runs a campaign beside a daemon, and compares what owners have and what is nobody's with what is stored.
 */

import type { Test } from 'tap';
import { until } from '../../e2e/ask.ts';
import type { Server } from '../../e2e/server.ts';
import { lengthOf } from '../../run-length.ts';
import type { Campaign, Stored } from './world.ts';

const operations = lengthOf(300, 1000);
const between = 100;

interface Row {
  readonly name: string;
  readonly tree: {
    readonly size: {
      readonly repos: { readonly public: number; readonly private: number };
      readonly git: { readonly LFS: number };
      readonly assets: {
        readonly attachments: { readonly issues: number; readonly releases: number };
        readonly artifacts: number;
        readonly packages: { readonly all: number };
        readonly wiki: number;
      };
    };
  };
}

/** Lines of an owner, whose name is in lower case, and a leaf with the bytes, in one order. */
type Figures = readonly string[];

async function countedBy(server: Server): Promise<Figures> {
  const [usage, overview] = await Promise.all(
    ['usage?limit=1000', 'overview'].map(each => server.ask('admin', `/api/v1/admin/quota/${each}`)),
  );
  const rows: readonly Row[] = JSON.parse(usage?.text ?? '[]');
  const { nobody } = JSON.parse(overview?.text ?? '{}');
  const figures = rows.flatMap(({ name, tree: { size } }) => [
    figure(name, 'size:repos:public', size.repos.public),
    figure(name, 'size:repos:private', size.repos.private),
    figure(name, 'size:git:lfs', size.git.LFS),
    figure(name, 'size:assets:attachments:issues', size.assets.attachments.issues),
    figure(name, 'size:assets:attachments:releases', size.assets.attachments.releases),
    figure(name, 'size:assets:artifacts', size.assets.artifacts),
    figure(name, 'size:assets:packages:all', size.assets.packages.all),
    figure(name, 'size:assets:wiki', size.assets.wiki),
  ]);
  return sorted([...figures, figure('nobody', '', nobody.bytes)]);
}

function expectedFrom(stored: readonly Stored[]): Figures {
  const sums = new Map<string, number>([['nobody ', 0]]);
  const add = (key: string, bytes: number) => sums.set(key, (sums.get(key) ?? 0) + bytes);
  for (const { leaf, bytes, owners } of stored) {
    for (const owner of owners) add(`${owner} ${leaf}`, bytes);
    if (owners.length === 0) add('nobody ', bytes);
  }
  return sorted([...sums].map(([key, bytes]) => `${key}: ${bytes}`));
}

function figure(owner: string, leaf: string, bytes: number): string {
  return `${owner.toLowerCase()} ${leaf}: ${bytes}`;
}

function sorted(figures: Figures): Figures {
  return figures.filter(line => line.startsWith('nobody ') || !line.endsWith(': 0')).sort();
}

/** Starts the daemon, and compares after each 100 operations, until there is a difference. */
export async function runCampaign(
  t: Test,
  server: Server,
  sql: (text: string) => unknown,
  campaign: Campaign,
): Promise<void> {
  await sql(campaign.statements());
  await server.start();
  for (let done = 0; done <= operations; done += between) {
    if (done > 0) {
      for (let step = 0; step < between; step++) campaign.step();
      await sql(campaign.statements());
    }
    const stored = campaign.stored();
    const expected = expectedFrom(stored);
    let last: Figures = [];
    const isEqual = await until(async () => {
      await server.scan();
      last = await countedBy(server);
      return JSON.stringify(last) === JSON.stringify(expected) || null;
    }).catch(() => false);
    if (isEqual) {
      t.pass(`after ${done} operations: ${stored.length} things`);
      continue;
    }
    t.strictSame(last, expected, `after ${done} operations`);
    const nobodys = stored.filter(({ owners }) => owners.length === 0);
    const byLeaf = Map.groupBy(nobodys, ({ leaf }) => leaf);
    for (const [leaf, all] of byLeaf)
      t.comment(`nobody's: ${all.length} of ${leaf}, ${all.reduce((sum, { bytes }) => sum + bytes, 0)} B`);
    t.comment((await server.ask('admin', '/api/v1/admin/quota/overview')).text.match(/"nobody":.*?\]/)?.[0]);
    return;
  }
}
