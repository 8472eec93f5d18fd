/** Quarantines that are seen, and what became of those that are gone. */

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { lookAtQuarantine, newQuarantines, quarantinesOf } from '../../src/scan/quarantine.ts';
import { bareRepository, fill, temporary } from './world.ts';

const name = 'tmp_objdir-incoming-aB3xY9';

function repository(t: Test): { readonly path: string; readonly objects: string } {
  const path = join(temporary(t), 'alice/a.git');
  bareRepository(path, 10);
  return { path, objects: join(path, 'objects') };
}

t.test('a quarantine counts its files by the configured measure, and shows one of its objects', async t => {
  const { objects } = repository(t);
  const look = (measure: 'apparent' | 'allocated' = 'apparent') =>
    lookAtQuarantine(join(objects, name), measure);
  t.same(look(), { is: 'absent' });
  mkdirSync(join(objects, name));
  t.match(look(), { is: 'seen', quarantine: { name, bytes: 0, sample: null } });
  fill(join(objects, name, 'ab/cdef'), 5000);
  t.match(look(), { quarantine: { bytes: 5000, sample: 'ab/cdef' } });
  fill(join(objects, name, 'pack/pack-0123.pack'), 100);
  fill(join(objects, name, 'pack/pack-0123.keep'), 3);
  const lock = "the lock of the pack is gone before the push's figure is exact";
  t.match(look(), { quarantine: { bytes: 5100, sample: 'pack/pack-0123.pack' } }, lock);
  t.match(look('allocated'), { quarantine: { bytes: 8192 + 4096 } });
  const before = look();
  rmSync(join(objects, name), { recursive: true });
  fill(join(objects, name, 'pack/pack-029d08823bd8a8eab510ad6ac75c823cfd3ed31e.pack'), 32);
  const after = look();
  t.match(after, { quarantine: { bytes: 32, sample: null } }, 'the pack of no object');
  if (before.is !== 'seen' || after.is !== 'seen') throw new Error('it is not there');
  t.not(before.quarantine.id, after.quarantine.id, 'the next one is another one, whatever its inode');
});

t.test('no link is followed, and none is a quarantine', async t => {
  const { path, objects } = repository(t);
  const elsewhere = temporary(t);
  fill(join(elsewhere, 'secret'), 1000);
  symlinkSync(elsewhere, join(objects, name));
  t.same(lookAtQuarantine(join(objects, name), 'apparent'), { is: 'absent' });
  t.same(quarantinesOf(path, [], 'apparent').there, []);
  rmSync(join(objects, name));
  fill(join(objects, name, 'ab/cd'), 1);
  symlinkSync(elsewhere, join(objects, name, 'pack'));
  symlinkSync(join(elsewhere, 'secret'), join(objects, name, 'ab/ef'));
  t.match(lookAtQuarantine(join(objects, name), 'apparent'), { quarantine: { bytes: 1 } });
  renameSync(objects, join(elsewhere, 'objects'));
  symlinkSync(join(elsewhere, 'objects'), objects);
  t.same(quarantinesOf(path, [], 'apparent').there, [], 'nor in place of objects');
});

t.test('of a listed quarantine that is gone it is told whether its objects were taken', async t => {
  const { path, objects } = repository(t);
  const listed = [
    { name, sample: 'pack/pack-1.pack' },
    { name: 'incoming-bbbbbb', sample: 'pack/pack-2.pack' },
    { name: 'incoming-cccccc', sample: null },
  ];
  fill(join(objects, name, 'pack/pack-1.pack'), 1);
  t.match(quarantinesOf(path, listed, 'apparent'), {
    there: [{ name }],
    gone: [
      { name: 'incoming-bbbbbb', isTaken: false },
      { name: 'incoming-cccccc', isTaken: false },
    ],
  });
  renameSync(join(objects, name, 'pack/pack-1.pack'), join(objects, 'pack/pack-1.pack'));
  rmSync(join(objects, name), { recursive: true });
  t.same(quarantinesOf(path, listed, 'apparent').gone[0], { name, isTaken: true });
});

t.test('one that a hook has emptied is gone, though its directory stays', async t => {
  const { path, objects } = repository(t);
  const pack = join(objects, name, 'pack/pack-1.pack');
  fill(pack, 1);
  rmSync(pack);
  const gone = (sample: string | null) => quarantinesOf(path, [{ name, sample }], 'apparent').gone;
  t.same(gone('pack/pack-1.pack'), [{ name, isTaken: false }]);
  t.same(gone(null), [], 'nothing was there yet');
  fill(join(objects, 'pack/pack-1.pack'), 1);
  t.same(gone('pack/pack-1.pack'), [{ name, isTaken: true }], 'or git has taken all of it');
});

t.test("Gitaly's quarantine of an edit is looked at where Gitaly has it", async t => {
  const root = temporary(t);
  const path = join(root, '@hashed/ab/cd/abcd.git');
  bareRepository(path, 10);
  const hash = createHash('sha1').update('@hashed/ab/cd/abcd.git').digest('hex').slice(0, 16);
  const edit = `+gitaly/tmp/quarantine-${hash}-123`;
  fill(join(root, edit, 'ab/cdef'), 7);
  const listed = [{ name: edit, sample: 'ab/cdef' }];
  t.match(quarantinesOf(path, listed, 'apparent').there, [{ name: edit, bytes: 7 }]);
  rmSync(join(root, edit), { recursive: true });
  t.same(quarantinesOf(path, listed, 'apparent').gone, [{ name: edit, isTaken: false }]);
});

t.test('what cannot be read is named, with its birth', async t => {
  if (process.getuid?.() === 0) {
    const { path, objects } = repository(t);
    fill(join(objects, name, 'pack/pack-1.pack'), 1);
    chmodSync(join(objects, name), 0o700);
    execFileSync('chmod', ['-R', 'a+rX', join(path, '../..')]);
    chmodSync(join(objects, name), 0o700);
    const script = `
      process.setgroups([]); process.setgid(65534); process.setuid(65534);
      const { quarantinesOf, lookAtQuarantine } = await import(${JSON.stringify(new URL('../../src/scan/quarantine.ts', import.meta.url).href)});
      console.log(JSON.stringify([quarantinesOf(${JSON.stringify(path)}, [], 'apparent'), lookAtQuarantine(${JSON.stringify(join(objects, name))}, 'apparent')]));`;
    const [quarantines, look] = JSON.parse(
      execFileSync('env', ['-i', process.execPath, '--input-type=module', '-e', script]).toString(),
    );
    t.match(quarantines.there, [{ name, bytes: 0, isUnreadable: true, bornAt: Number }]);
    t.same(look, { is: 'unreadable' });
  }
});

t.test('only repositories whose objects changed since then are looked through', async t => {
  const [one, other] = [repository(t), repository(t)];
  const now = Date.now();
  for (const { objects } of [one, other]) fill(join(objects, name, 'ab/cd'), 3);
  execFileSync('touch', ['-d', '1 hour ago', other.objects]);
  const units = [one.path, other.path, '/nonexistent'];
  t.match(newQuarantines(units, now - 2000, 'apparent'), [{ unit: one.path, there: [{ name, bytes: 3 }] }]);
  t.equal(newQuarantines(units, 0, 'apparent').length, 2);
});
