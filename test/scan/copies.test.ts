/** What tells the pack of a push from that of a repack, with real packs. */

import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  appendFileSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { noCache } from '../../src/scan/cache.ts';
import { type CountedObjects, mayHoldCopies } from '../../src/scan/copies.ts';
import type { Walked } from '../../src/scan/outcome.ts';
import { walk } from '../../src/scan/walk.ts';
import { git, pushedTo } from './pushed.ts';
import { temporary, unitAt } from './world.ts';

t.setTimeout(300_000);

/** In the order in which they came. */
function stemsIn(repository: string): string[] {
  const directory = join(repository, 'objects/pack');
  const packs = readdirSync(directory).filter(name => name.endsWith('.pack'));
  const changedAt = (name: string): number => statSync(join(directory, name)).ctimeMs;
  return packs.sort((one, other) => changedAt(one) - changedAt(other)).map(name => name.slice(0, -5));
}

function looseIn(repository: string): string[] {
  const directories = readdirSync(join(repository, 'objects')).filter(name => /^[0-9a-f]{2}$/.test(name));
  return directories.flatMap(directory =>
    readdirSync(join(repository, 'objects', directory)).map(name => directory + name),
  );
}

/** All that is there, with the packs that were not there before as the fresh ones. */
function counted(repository: string, before: readonly string[]): CountedObjects {
  const packs = stemsIn(repository).map(stem => ({ stem, isFresh: !before.includes(stem) }));
  return { packs, loose: looseIn(repository) };
}

function walked(repository: string): Walked {
  const terms = { inner: [], exclude: new Set<string>(), measure: 'apparent', knownBytes: null } as const;
  const outcome = walk({ unit: unitAt(repository, 'repos'), ...terms }, noCache, () => true);
  if (!('bytes' in outcome)) throw new Error(outcome.outcome);
  return outcome;
}

/** Puts the packs of a copy that was repacked beside those that are there, as a repack does for a moment. */
function repackBeside(t: Test, repository: string, ...how: readonly string[]): void {
  const copy = temporary(t);
  execFileSync('cp', ['-a', `${repository}/.`, copy]);
  execFileSync('git', ['-C', copy, 'repack', '-q', ...how]);
  const packs = join(copy, 'objects/pack');
  for (const name of readdirSync(packs))
    execFileSync('cp', ['-n', join(packs, name), join(repository, 'objects/pack')]);
}

t.test('the pack of a push holds no copies, that of a repack does', async t => {
  const { repository, push } = await pushedTo(t);
  await push(120);
  const first = stemsIn(repository);
  t.equal(first.length, 1);
  t.equal(walked(repository).packs, 'still', 'the first pack');
  await push(10);
  t.ok(looseIn(repository).length > 10);
  t.equal(walked(repository).packs, 'still', 'loose objects beside a new pack');
  await push(130);
  t.notOk(mayHoldCopies(repository, counted(repository, first)));
  t.equal(walked(repository).packs, 'still', 'a second pack');

  const before = stemsIn(repository);
  repackBeside(t, repository, '-d');
  t.ok(mayHoldCopies(repository, counted(repository, before)), 'a repack of what is loose');
  t.equal(walked(repository).packs, 'fresh');
  await git(repository, 'prune-packed');
  t.notOk(mayHoldCopies(repository, counted(repository, before)), 'once that has gone it is none');

  for (const how of [['-a'], ['-a', '-f', '--max-pack-size=1m'], ['-a', '-b']]) {
    const old = stemsIn(repository);
    repackBeside(t, repository, ...how, '-d');
    t.ok(mayHoldCopies(repository, counted(repository, old)), `a repack ${how.join(' ')}`);
    t.equal(walked(repository).packs, 'fresh');
    // Old packs go one by one, and as long as one is there its objects are there twice.
    for (const [at, stem] of old.entries()) {
      for (const name of readdirSync(join(repository, 'objects/pack')))
        if (name.startsWith(stem) && stemsIn(repository).length > 1)
          rmSync(join(repository, 'objects/pack', name));
      t.equal(mayHoldCopies(repository, counted(repository, old)), at + 1 < old.length);
    }
  }
});

t.test('objects whose names are of SHA-256 are told, too', async t => {
  const repository = temporary(t);
  await git(repository, 'init', '-q', '--bare', '--object-format=sha256');
  const packOf = (contents: readonly string[]): void => {
    const script = 'for each; do printf %s "$each" | git hash-object -w --stdin; done';
    const names = execFileSync('sh', ['-c', script, 'sh', ...contents], { cwd: repository }).toString();
    execFileSync('git', ['pack-objects', '-q', 'objects/pack/pack'], { cwd: repository, input: names });
    execFileSync('git', ['prune-packed', '-q'], { cwd: repository });
  };
  packOf(['a', 'b', 'c']);
  const first = stemsIn(repository);
  packOf(['d', 'e']);
  t.equal(stemsIn(repository).length, 2);
  t.notOk(mayHoldCopies(repository, counted(repository, first)));
  packOf(['c', 'f']);
  t.ok(mayHoldCopies(repository, counted(repository, first)));
});

t.test('a pack beside another one that came just now, too', async t => {
  const { repository, push } = await pushedTo(t);
  await push(120);
  await push(120);
  t.notOk(mayHoldCopies(repository, counted(repository, [])));
  repackBeside(t, repository, '-a', '-d');
  t.ok(mayHoldCopies(repository, counted(repository, [])), 'a repack right after a push');
});

t.test('what cannot be told is waited for', async t => {
  const { repository, push } = await pushedTo(t);
  await push(120);
  const [first = ''] = stemsIn(repository);
  await push(120);
  const all = counted(repository, [first]);
  t.notOk(mayHoldCopies(repository, all));
  const none = { ...all, packs: all.packs.map(({ stem }) => ({ stem, isFresh: false })) };
  t.ok(mayHoldCopies(repository, none), 'no pack that came just now');
  t.ok(mayHoldCopies(repository, { ...all, loose: null }), 'too many loose objects');
  t.ok(mayHoldCopies(repository, { ...all, packs: all.packs.slice(1) }), 'a pack that came meanwhile');
  const gone = { stem: first.replace(/.$/, 'x'), isFresh: false };
  t.ok(mayHoldCopies(repository, { ...all, packs: [...all.packs, gone] }), 'a pack of an odd name');
  const missing = { stem: `pack-${'0'.repeat(40)}`, isFresh: false };
  t.ok(mayHoldCopies(repository, { ...all, packs: [...all.packs, missing] }), 'a pack that went meanwhile');
  const index = join(repository, 'objects/pack', `${first}.idx`);
  execFileSync('chmod', ['u+w', index]);
  truncateSync(index, 2000);
  t.ok(mayHoldCopies(repository, all), 'an index that ends early');
  writeFileSync(index, randomBytes(4000));
  t.ok(mayHoldCopies(repository, all), 'no index at all');
  truncateSync(index, 3);
  t.ok(mayHoldCopies(repository, all));
  rmSync(index);
  execFileSync('mkfifo', [index]);
  t.ok(mayHoldCopies(repository, all), 'a pipe, for which nobody waits');
});

t.test('objects that a repack takes out of a pack are told by their time', async t => {
  const { repository, push } = await pushedTo(t);
  await push(120);
  await push(10);
  t.equal(walked(repository).packs, 'still');
  const [object = ''] = looseIn(repository);
  const file = join(repository, 'objects', object.slice(0, 2), object.slice(2));
  utimesSync(file, 1_700_000_000, 1_700_000_000);
  t.equal(walked(repository).packs, 'fresh');
});

t.test('a repository without packs needs no second look', async t => {
  const { repository, push } = await pushedTo(t);
  await push(10);
  t.same(stemsIn(repository), []);
  t.equal(walked(repository).packs, 'still', 'though its directory of packs was made just now');
  appendFileSync(join(repository, 'objects/pack/tmp_pack_x'), 'begun');
  t.equal(walked(repository).packs, 'collected', 'until a pack is being written');
});
