/**
 * Random life on a git server, and then the figures beside find's.
 *
 * The steps come from a seed that is printed; `SOFTQUOTA_SEED` plays the same ones again.
 */

import { existsSync } from 'node:fs';
import { link, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import t from 'tap';
import { numbersFrom, oneOf as oneOfThem } from '../numbers.ts';
import { isLong } from '../run-length.ts';
import { until } from './ask.ts';
import { Clone } from './clone.ts';
import { counted } from './count.ts';
import { must, run } from './run.ts';
import { Server } from './server.ts';

const steps = isLong ? 1000 : 80;
const seed = Number(process.env.SOFTQUOTA_SEED ?? Date.now() % 2 ** 31);

t.setTimeout(isLong ? 3_600_000 : 240_000);

t.test(`after ${steps} random steps every owner's usage equals what find counts, to the byte`, async t => {
  t.comment(`SOFTQUOTA_SEED=${seed}`);
  const upTo = numbersFrom(seed);
  const oneOf = <Item>(items: readonly Item[]): Item => oneOfThem(items, upTo);

  const owners = ['alice', 'bob', 'Ünal', 'o r g', 'carol'];
  const names: string[] = owners.map(owner => `${owner}/first`);
  const server = await Server.open(t, {
    ini: { 'quota.default': { TOTAL: '-1' } },
    repositories: names,
  });
  const template = join(server.folder, 'template');
  await mkdir(join(template, 'hooks'), { recursive: true });
  const first = server.path('alice/first');
  for (const name of ['pre-receive', 'post-receive'])
    await must('cp', ['-p', join(first, 'hooks', name), join(template, 'hooks')]);
  const clone = await Clone.of(server, first);
  await clone.commit(100);
  let made = 0;

  const push = async () => {
    const url = server.path(oneOf(names));
    await clone.commit(upTo(oneOf([200, 20_000, 200_000])));
    const branch = `b${upTo(4)}`;
    await must('git', ['push', '-q', '--force', url, `main:refs/heads/${branch}`], { cwd: clone.folder });
  };
  const deleteBranch = async () => {
    const url = server.path(oneOf(names));
    const branches = (await must('git', ['-C', url, 'for-each-ref', '--format=%(refname)'])).split('\n');
    const branch = oneOf(branches);
    if (branch !== '') await must('git', ['push', '-q', url, `:${branch}`], { cwd: clone.folder });
  };
  const collect = async () => {
    await must('git', ['-C', server.path(oneOf(names)), 'gc', '-q', ...oneOf([[], ['--prune=now']])]);
  };
  const repack = async () => {
    const how = oneOf([['-a'], ['-a', '-d'], []]);
    await must('git', ['-C', server.path(oneOf(names)), 'repack', '-q', ...how]);
  };
  const moveTo = async (to: string) => {
    const index = upTo(names.length);
    const name = names[index] ?? '';
    await mkdir(join(server.path(to), '..'), { recursive: true });
    await rename(server.path(name), server.path(to));
    names[index] = to;
    if (upTo(2) === 0) await server.ask('gate', '/v1/changed', { body: { path: server.path(name) } });
  };
  const ownerOf = (name: string) => name.split('/')[0] ?? '';
  const renameOne = () => moveTo(`${ownerOf(oneOf(names))}/group ${upTo(3)}/renamed-${++made}`);
  const changeOwner = () => moveTo(`${oneOf(owners)}/moved-${++made}`);
  const create = async () => {
    const name = `${oneOf(owners)}/made-${++made}`;
    await must('git', ['init', '-q', '--bare', `--template=${template}`, server.path(name)]);
    names.push(name);
  };
  const remove = async () => {
    if (names.length < 3) return;
    const [name] = names.splice(upTo(names.length), 1);
    await rm(server.path(name ?? ''), { recursive: true });
  };
  const write = async () => {
    const folder = oneOf([
      join(server.folder, 'lfs', oneOf(owners), `${upTo(3)}`),
      join(server.folder, 'attachments', oneOf(owners), 'deep/er'),
      join(server.path(oneOf(names)), 'lfs/objects', `${upTo(3)}`),
    ]);
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, `file-${upTo(20)}`), Buffer.alloc(upTo(50_000)));
  };
  const files = async (folder: string) => {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    return entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name));
  };
  const chmod = async () => {
    const folder = join(server.folder, oneOf(['lfs', 'attachments']));
    const found = await files(folder);
    if (found.length > 0) await must('chmod', [oneOf(['000', '600', '777']), oneOf(found)]);
  };
  const hardLink = async () => {
    const found = await files(join(server.folder, 'lfs'));
    if (found.length === 0) return;
    const target = join(server.folder, oneOf(['lfs', 'attachments']), oneOf(owners), `link-${++made}`);
    await mkdir(join(target, '..'), { recursive: true });
    await link(oneOf(found), target);
  };
  const unlinkOne = async () => {
    const found = await files(join(server.folder, oneOf(['lfs', 'attachments'])));
    if (found.length > 0) await rm(oneOf(found));
  };

  const life = [
    ...[push, push, push, push, push, push],
    ...[deleteBranch, deleteBranch, collect, repack, renameOne, changeOwner, create, create, remove],
    ...[write, write, write, chmod, hardLink, unlinkOne],
  ];
  for (let step = 0; step < steps; step++) await oneOf(life)();

  // Some steps write files in place, which a sweep cannot see once they have been at rest for a minute.
  const scan = await server.softquota('scan --verify');
  t.equal(scan.code, 0, scan.stderr);
  for (const owner of owners) {
    const found = await independent(server, owner);
    // A repack leaves signs for ten seconds.
    await until(
      async () => isDeepStrictEqual(await server.usageByLeaf(owner), found) || null,
      () => `${owner}: ${JSON.stringify(found)} is there (SOFTQUOTA_SEED=${seed})`,
    );
  }
  const rows = JSON.parse((await server.softquota('usage --json')).stdout);
  t.strictSame(
    rows.map(({ name }: { name: string }) => name).sort(),
    [...owners].sort(),
    'nobody else owns anything',
  );
});

/** Counts an owner's bytes by leaf with find, unit after unit. */
async function independent(server: Server, owner: string): Promise<Readonly<Record<string, number>>> {
  const bytes = { 'size:repos:private': 0, 'size:git:lfs': 0, 'size:assets:attachments:issues': 0 };
  const folders = ['-name', '*.git', '-type', 'd', '-prune'];
  const heads = await run('find', [join(server.folder, 'git', owner), ...folders]);
  for (const repository of heads.stdout.split('\n').filter(line => line !== '')) {
    bytes['size:repos:private'] += await counted(repository, [join(repository, 'lfs')]);
    bytes['size:git:lfs'] += await countedIfThere(join(repository, 'lfs'));
  }
  bytes['size:git:lfs'] += await countedIfThere(join(server.folder, 'lfs', owner));
  bytes['size:assets:attachments:issues'] += await countedIfThere(join(server.folder, 'attachments', owner));
  return Object.fromEntries(Object.entries(bytes).filter(([, size]) => size > 0));
}

async function countedIfThere(directory: string): Promise<number> {
  return existsSync(directory) ? counted(directory) : 0;
}
