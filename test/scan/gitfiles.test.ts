import { execFileSync } from 'node:child_process';
import { renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { noCache } from '../../src/scan/cache.ts';
import type { Walked } from '../../src/scan/outcome.ts';
import { walk } from '../../src/scan/walk.ts';
import { bareRepository, fill, independentCount, temporary, unitAt } from './world.ts';

const hour = 3600;

function walked(path: string, during: () => void = () => {}): Walked {
  const request = { unit: unitAt(path, 'repos'), inner: [], exclude: new Set<string>(), knownBytes: null };
  const outcome = walk({ ...request, measure: 'apparent' }, noCache, () => {
    during();
    return true;
  });
  if (!('bytes' in outcome)) throw new Error(outcome.outcome);
  return outcome;
}

/** A repository in which nothing has happened for an hour. */
function repository(t: Test): string {
  const path = join(temporary(t), 'a.git');
  bareRepository(path, 1000);
  age(path, hour);
  return path;
}

/** Puts the times of all that is at or below a path back by so many seconds. */
function age(path: string, seconds: number): void {
  const at = `@${Math.floor(Date.now() / 1000 - seconds)}`;
  execFileSync('find', [path, '-exec', 'touch', '-h', '-d', at, '{}', '+']);
}

t.test('files in the making are not counted while they are young', async t => {
  const path = repository(t);
  const before = walked(path).bytes;
  fill(join(path, 'objects/tmp_objdir-incoming-a1/12/3456'), 100);
  fill(join(path, 'objects/incoming-b2/pack/pack-1.pack'), 100);
  fill(join(path, 'objects/pack/tmp_pack_c3'), 100);
  fill(join(path, 'objects/pack/.tmp-123-pack-d4.pack'), 100);
  t.match(walked(path), { bytes: before, leftoverCount: 0, partial: false });
});

t.test('files in the making that were left for more than an hour are counted and named', async t => {
  const path = repository(t);
  const before = walked(path).bytes;
  const left = {
    'objects/tmp_objdir-incoming-a1': ['/12/3456', 100],
    'objects/incoming-b2': ['/pack/pack-1.pack', 200],
    'objects/pack/tmp_pack_c3': ['', 300],
    'objects/pack/.tmp-123-pack-d4.pack': ['', 400],
  } as const;
  for (const [place, [below, bytes]] of Object.entries(left)) {
    fill(join(path, place) + below, bytes);
    age(join(path, place), 1.1 * hour);
  }
  const found = walked(path);
  t.equal(found.bytes, before + 1000);
  t.same(independentCount(path), { bytes: found.bytes, files: found.files });
  t.same(
    new Map(found.leftovers.map(leftover => [leftover.path, leftover.bytes])),
    new Map(Object.entries(left).map(([place, [, bytes]]) => [join(path, place), bytes])),
  );
  t.ok(
    found.leftovers.every(({ modifiedAt }) => Math.abs(Date.now() - modifiedAt - 1.1 * hour * 1000) < 60_000),
  );
});

t.test('a quarantine is as young as the newest thing in it', async t => {
  const path = repository(t);
  const before = walked(path).bytes;
  const quarantine = join(path, 'objects/tmp_objdir-incoming-a1');
  fill(join(quarantine, 'pack/tmp_pack_b2'), 100);
  age(quarantine, 2 * hour);
  writeFileSync(join(quarantine, 'pack/tmp_pack_b2'), 'a slow push goes on');
  t.match(walked(path), { bytes: before, leftoverCount: 0 });
});

t.test('a time that lies more than an hour ahead is not young', async t => {
  const path = repository(t);
  const before = walked(path).bytes;
  fill(join(path, 'objects/pack/tmp_pack_a1'), 100);
  const ahead = Date.now() / 1000 + 1.1 * hour;
  utimesSync(join(path, 'objects/pack/tmp_pack_a1'), ahead, ahead);
  t.match(walked(path), { bytes: before + 100, leftoverCount: 1 });
});

t.test('such names count like any other where git does not put them', async t => {
  const path = repository(t);
  const before = walked(path).bytes;
  fill(join(path, 'tmp_objdir-a/b'), 1);
  fill(join(path, 'refs/heads/incoming-c'), 2);
  fill(join(path, 'objects/tmp_d'), 4);
  fill(join(path, 'refs/heads/objects/pack/tmp_pack_e'), 8);
  t.equal(walked(path).bytes, before + 15);
  const request = { unit: unitAt(path, 'lfs'), inner: [], exclude: new Set<string>(), knownBytes: null };
  fill(join(path, 'objects/pack/tmp_pack_f'), 16);
  t.match(
    walk({ ...request, measure: 'apparent' }, noCache, () => true),
    { bytes: before + 31 },
    'or in another kind of unit',
  );
});

t.test('a walk tells whether packs came or went', async t => {
  const path = repository(t);
  t.equal(walked(path).packs, 'still');
  t.equal(walked(path, () => fill(join(path, 'objects/pack/pack-1.pack'), 1)).packs, 'changed');
  t.equal(walked(path).packs, 'fresh', 'just before');
  age(path, 3);
  t.equal(walked(path).packs, 'still');
  fill(join(path, 'objects/ab/cd'), 1);
  t.equal(walked(path).packs, 'fresh', 'loose objects still come or go');
  age(join(path, 'objects/pack'), 70);
  t.equal(walked(path).packs, 'still', 'which is no matter without a new pack');
  age(path, 3);
  t.equal(
    walked(path, () => rmSync(join(path, 'objects/12'), { recursive: true, force: true })).packs,
    'changed',
  );
});

t.test('a walk tells whether a gc is at work', async t => {
  const path = repository(t);
  const gc = join(path, 'gc.pid');
  writeFileSync(gc, `${process.pid} ${hostname()}`);
  t.equal(walked(path).packs, 'collected');
  writeFileSync(gc, `999999999 ${hostname()}`);
  t.equal(walked(path).packs, 'still', 'its process has ended');
  writeFileSync(gc, '999999999 some.other.host.example');
  t.equal(walked(path).packs, 'collected', 'another host may be at it');
  age(gc, 13 * hour);
  t.equal(walked(path).packs, 'still', 'but not for more than twelve hours');
  writeFileSync(gc, 'nonsense');
  t.equal(walked(path).packs, 'still');
  renameSync(gc, join(path, 'objects/maintenance.lock'));
  age(join(path, 'objects'), 3);
  t.equal(walked(path).packs, 'collected');
});

t.test('a walk tells whether a repack is writing', async t => {
  const path = repository(t);
  for (const name of ['tmp_pack_a1', '.tmp-1-pack-b2.idx']) {
    const file = join(path, 'objects/pack', name);
    fill(file, 1);
    age(join(path, 'objects'), 3);
    utimesSync(file, Date.now() / 1000, Date.now() / 1000);
    t.equal(walked(path).packs, 'collected');
    age(file, 70);
    t.equal(walked(path).packs, 'still', 'left behind');
    rmSync(file);
    age(join(path, 'objects'), 3);
  }
});

t.test('a push that is under way, or refused, is no sign that packs came or went', async t => {
  const path = repository(t);
  fill(join(path, 'objects/pack/pack-1.pack'), 1);
  const before = walked(path);
  const quarantine = join(path, 'objects/tmp_objdir-incoming-a1');
  const push = (): void => {
    fill(join(quarantine, '12/3456'), 1);
    rmSync(quarantine, { recursive: true });
  };
  t.not(walked(path, push).packs, 'changed');
  t.equal(walked(path).packsIdentity, before.packsIdentity);
  fill(join(path, 'objects/ab/cd'), 1);
  t.not(walked(path).packsIdentity, before.packsIdentity, 'what becomes part of the repository is');
});

t.test('beside a gc at work all counts but what it may be holding twice', async t => {
  const path = repository(t);
  t.match(walked(path), { collectors: [] });
  writeFileSync(join(path, 'gc.pid'), '1 some.other.host.example');
  const [collector] = walked(path).collectors;
  t.type(collector, 'string');
  const loose = fillAndWalk('objects/ab/cd', 10);
  t.equal(loose.certainBytes, loose.bytes, 'loose objects of a push are no copy');
  const pack = fillAndWalk('objects/pack/pack-2.pack', 1000);
  fill(join(path, 'packed-refs'), 10_000);
  const refs = fillAndWalk('refs/heads/new', 41);
  t.strictSame(
    [pack, refs].map(({ bytes, certainBytes }) => bytes - certainBytes),
    [1000, 11_000],
    'a pack may be, and the refs in one file',
  );
  t.strictSame(refs.collectors, [collector]);
  renameSync(join(path, 'gc.pid'), join(path, 'objects/maintenance.lock'));
  t.notSame(walked(path).collectors, [collector], 'another one is told from it');

  function fillAndWalk(name: string, bytes: number): Walked {
    fill(join(path, name), bytes);
    return walked(path);
  }
});
