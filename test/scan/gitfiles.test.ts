import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { RepackSigns } from '../../src/scan/gitfiles.ts';
import type { Walked } from '../../src/scan/task.ts';
import { bareRepository, fill, independentCount, temporary, unitAt, walked } from './world.ts';

const hour = 3600;

function walkedIn(path: string, during = () => {}, hasOwnTimes = true): Walked {
  return walked(unitAt(path, 'repos'), { hasOwnTimes }, during);
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
  const before = walkedIn(path).bytes;
  fill(join(path, 'objects/pack/tmp_pack_c3'), 100);
  fill(join(path, 'objects/pack/.tmp-123-pack-d4.pack'), 100);
  t.match(walkedIn(path), { bytes: before, leftovers: { count: 0 }, partial: false });
});

t.test('files in the making that were left for more than an hour are counted and named', async t => {
  const path = repository(t);
  const before = walkedIn(path).bytes;
  const left = { 'objects/pack/tmp_pack_c3': 300, 'objects/pack/.tmp-123-pack-d4.pack': 400 };
  for (const [place, bytes] of Object.entries(left)) {
    fill(join(path, place), bytes);
    age(join(path, place), 1.1 * hour);
  }
  const found = walkedIn(path);
  t.equal(found.bytes, before + 700);
  t.equal(found.objects?.bytes, 1700);
  t.same(independentCount(path), { bytes: found.bytes, files: found.files });
  t.same(
    new Map(found.leftovers.first.map(leftover => [leftover.path, leftover.bytes])),
    new Map(Object.entries(left).map(([place, bytes]) => [join(path, place), bytes])),
  );
  t.ok(
    found.leftovers.first.every(
      ({ modifiedAt }) => Math.abs(Date.now() - modifiedAt - 1.1 * hour * 1000) < 60_000,
    ),
  );
  fill(join(path, 'objects/pack/tmp_idx_e5'), 1);
  t.match(
    walkedIn(path),
    { bytes: before, leftovers: { count: 0 } },
    'they are all as young as the youngest',
  );
});

t.test('quarantines are told apart from what counts, whatever their age and rights', async t => {
  const path = repository(t);
  const before = walkedIn(path);
  for (const [at, name] of [
    'tmp_objdir-incoming-aaaaaa',
    'incoming-bbbbbb',
    'tmp_objdir-gone-cccccc',
  ].entries()) {
    fill(join(path, 'objects', name, 'pack/pack-1.pack'), 100 + at);
    age(join(path, 'objects', name), 2 * hour);
  }
  const found = walkedIn(path);
  t.match(found, { bytes: before.bytes, leftovers: { count: 0 }, partial: false });
  const seen = found.objects?.after.there ?? [];
  t.same(
    new Set(seen.map(({ name, bytes }) => `${name} ${bytes}`)),
    new Set(['tmp_objdir-incoming-aaaaaa 100', 'incoming-bbbbbb 101', 'tmp_objdir-gone-cccccc 102']),
  );
  t.ok(
    seen.every(({ bornAt }) => bornAt !== null && Math.abs(Date.now() - bornAt) < 60_000),
    'by their birth',
  );
});

t.test('a time that lies more than an hour ahead is not young', async t => {
  const path = repository(t);
  const before = walkedIn(path).bytes;
  fill(join(path, 'objects/pack/tmp_pack_a1'), 100);
  const ahead = Date.now() / 1000 + 1.1 * hour;
  utimesSync(join(path, 'objects/pack/tmp_pack_a1'), ahead, ahead);
  t.match(walkedIn(path), { bytes: before + 100, leftovers: { count: 1 } });
});

t.test('such names count like any other where git does not put them', async t => {
  const path = repository(t);
  const before = walkedIn(path).bytes;
  fill(join(path, 'tmp_objdir-a/b'), 1);
  fill(join(path, 'refs/heads/incoming-c'), 2);
  fill(join(path, 'objects/tmp_d'), 4);
  fill(join(path, 'refs/heads/objects/pack/tmp_pack_e'), 8);
  t.equal(walkedIn(path).bytes, before + 15);
  fill(join(path, 'objects/pack/tmp_pack_f'), 16);
  t.match(walked(unitAt(path)), { bytes: before + 31 }, 'or in another kind of unit');
});

/** The signs that a walk saw that began so long after the last change. */
function signs(path: string, during?: () => void): RepackSigns {
  const { objects } = walkedIn(path, during);
  if (objects === null) throw new Error('it is no repository');
  return objects.signs;
}

t.test('a walk tells when a directory of objects changed last', async t => {
  const path = repository(t);
  t.ok(Math.abs((signs(path).quietMs ?? 0) - hour * 1000) < 60_000);
  for (const [name, during] of Object.entries({
    'a pack comes': () => fill(join(path, 'objects/pack/pack-1.pack'), 1),
    'a loose object comes': () => fill(join(path, 'objects/12/3456'), 1),
    'loose objects go': () => rmSync(join(path, 'objects/12'), { recursive: true }),
    'a commit-graph comes': () => fill(join(path, 'objects/info/commit-graph'), 1),
    'a push begins': () => mkdirSync(join(path, 'objects/tmp_objdir-incoming-aaaaaa')),
  })) {
    let isDone = false;
    const once = (): void => {
      if (!isDone) during();
      isDone = true;
    };
    const { quietMs, isChanged, arePacksChanged } = signs(path, once);
    t.ok((quietMs ?? 0) < 20 && isChanged, name);
    t.equal(arePacksChanged, name === 'a pack comes');
    const after = signs(path).quietMs ?? 0;
    t.ok(after > -20 && after < 10_000, 'and the next one that it was just before');
    age(join(path, 'objects'), hour);
  }
});

t.test('a walk tells whether a gc or a maintenance is at work, as git itself would', async t => {
  const path = repository(t);
  const gc = join(path, 'gc.pid');
  const isCollected = (text: string): boolean => {
    writeFileSync(gc, text);
    return signs(path).isCollected;
  };
  t.ok(isCollected(`${process.pid} ${hostname()}`));
  t.notOk(isCollected(`999999999 ${hostname()}`), 'its process has ended');
  t.notOk(isCollected('nonsense'));
  t.ok(isCollected('999999999 some.other.host.example'), 'another host may be at it');
  age(gc, 1.1 * hour);
  t.notOk(signs(path).isCollected, 'but not for more than an hour');
  writeFileSync(gc, `${process.pid} ${hostname()}`);
  age(gc, 11 * hour);
  t.ok(signs(path).isCollected);
  age(gc, 13 * hour);
  t.notOk(signs(path).isCollected, 'and this one for twelve');
  const lock = join(path, 'objects/maintenance.lock');
  writeFileSync(lock, '');
  t.ok(signs(path).isMaintained);
  age(lock, 1.1 * hour);
  t.notOk(signs(path).isMaintained);
});

t.test('a walk tells whether a repack is writing', async t => {
  const path = repository(t);
  for (const name of ['tmp_pack_a1', '.tmp-999999999-pack-b2.idx', 'multi-pack-index.lock']) {
    const file = join(path, 'objects/pack', name);
    fill(file, 1);
    t.ok(signs(path).isWriting, name);
    age(file, name.endsWith('.lock') ? 1.1 * hour : 70);
    t.notOk(signs(path).isWriting, 'left behind');
    rmSync(file);
  }
  const lock = join(path, 'objects/pack/multi-pack-index.lock');
  fill(lock, 1);
  age(lock, 0.9 * hour);
  t.ok(signs(path).isWriting, 'bitmaps take long');
  rmSync(lock);
  const file = join(path, `objects/pack/.tmp-${process.pid}-pack-c3.pack`);
  fill(file, 1);
  age(file, 2 * hour);
  t.ok(signs(path).isWriting, 'its process lives');
  age(file, 13 * hour);
  t.notOk(signs(path).isWriting, 'which may be another one after half a day');
});

t.test('where another host gives the times, only the look before tells a change', async t => {
  const path = repository(t);
  const first = walkedIn(path, () => {}, false).objects?.signs;
  t.match(first, { quietMs: null, isChanged: false });
  t.equal(walkedIn(path, () => {}, false).objects?.signs.directories, first?.directories);
  const during = (): void => fill(join(path, 'objects/pack/pack-1.pack'), 1);
  t.match(walkedIn(path, during, false).objects?.signs, { isChanged: true, arePacksChanged: true });
  t.not(walkedIn(path, () => {}, false).objects?.signs.directories, first?.directories);
});
