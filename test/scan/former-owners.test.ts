/** The owners whom units' directories had before. */

import { mkdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import t, { type Test } from 'tap';
import { type FormerOwners, formerOwnersIn, formerOwnersTable } from '../../src/scan/former-owners.ts';
import { bareRepository, scanning, storage, temporary } from './world.ts';

const hourMs = 3_600_000;

/** Meets directories, by their identities, as somebody's. */
function meeting(t: Test) {
  const database = new DatabaseSync(':memory:');
  t.teardown(() => database.close());
  database.exec(formerOwnersTable);
  const formerOwners: FormerOwners = formerOwnersIn(database);
  const at = { now: 1000 };
  const meet = (identity: string, owner: string) =>
    formerOwners({ identity, path: Buffer.from(`${owner}/${identity}`), owner, now: at.now }).map(
      ({ name }) => name,
    );
  return { at, meet };
}

t.test('a new owner with the directories of another one has that name before', t => {
  const { at, meet } = meeting(t);
  t.same([meet('1', 'bob'), meet('2', 'bob'), meet('3', 'alice')], [[], [], []]);
  at.now += 10 * hourMs;
  t.same([meet('4', 'robert'), meet('1', 'robert'), meet('2', 'robert')], [[], ['bob'], ['bob']]);
  at.now += 10 * hourMs;
  t.same(meet('1', 'robert'), ['bob'], 'that is remembered');
  t.same(meet('1', 'bert'), ['bob', 'robert'], 'however often somebody is renamed');
  t.same(meet('1', 'Bert'), ['bob', 'robert'], 'another case is no other name');
  for (const name of ['a', 'b', 'c', 'd', 'e']) meet('1', name);
  t.same(meet('1', 'e'), ['bob', 'robert', 'bert', 'd'], 'the first ones stay known, within a bound');
  t.end();
});

t.test('what an owner with directories of their own is handed over says nothing', t => {
  const { at, meet } = meeting(t);
  for (const [identity, owner] of [
    ['1', 'bob'],
    ['2', 'bob'],
    ['3', 'alice'],
  ] as const)
    meet(identity, owner);
  at.now += 10 * hourMs;
  t.same(meet('1', 'alice'), []);
  t.same(meet('1', 'alice'), []);
  t.same(meet('2', 'robert'), ['bob']);
  at.now += 10 * hourMs;
  t.same(meet('5', 'bob'), []);
  t.same(meet('5', 'robert'), ['bob'], 'what comes later from the same one came along');
  t.end();
});

t.test('a walk tells whose a renamed directory was, and nothing of one that was made anew', async t => {
  const root = temporary(t);
  const { scanner, book } = scanning(t, [storage('repos', `${root}/{owner}/{repo}.git`)]);
  const formerAt = async (path: string) => {
    await scanner.measureSoon(path);
    return book.units.get(path)?.formerOwners.map(({ name }) => name);
  };
  const [old, renamed] = [join(root, 'bob'), join(root, 'robert')];
  bareRepository(join(old, 'app.git'));
  t.same(await formerAt(join(old, 'app.git')), []);
  renameSync(old, renamed);
  t.same(await formerAt(join(renamed, 'app.git')), ['bob']);

  // The system gives inodes anew; it may take some to have the same one.
  const [gone, anew] = [join(root, 'carol/app.git'), join(root, 'dave/app.git')];
  for (let tries = 0; tries < 100; tries += 1) {
    bareRepository(gone);
    t.same(await formerAt(gone), []);
    const { ino } = statSync(gone);
    rmSync(gone, { recursive: true });
    mkdirSync(anew, { recursive: true });
    const isSame = statSync(anew).ino === ino;
    bareRepository(anew);
    t.same(await formerAt(anew), [], isSame ? 'the inode is the same' : 'the inode is another');
    rmSync(join(root, 'dave'), { recursive: true });
    if (isSame) return;
  }
});

t.test('whoever has most of a root is renamed without a disk being taken to be away', async t => {
  const root = temporary(t);
  const { scanner, book } = scanning(t, [storage('repos', `${root}/storage/{owner}/{repo}.git`)]);
  const rename = async (from: string, to: string) => {
    renameSync(join(root, 'storage', from), join(root, 'storage', to));
    await scanner.sweep({ kind: 'sweep' }).done;
    return book.sweeps.at(-1)?.roots.map(({ away }) => away);
  };
  const ownedBy = (name: string) => [...book.units.values()].filter(({ unit }) => unit.owner === name).length;
  for (let number = 0; number < 20; number += 1) bareRepository(join(root, `storage/bob/${number}.git`));
  bareRepository(join(root, 'storage/alice/app.git'));
  await scanner.sweep({ kind: 'sweep' }).done;
  t.same(await rename('bob', 'robert'), [null]);
  t.same([ownedBy('bob'), ownedBy('robert')], [0, 20]);
  t.same(await rename('robert', '../elsewhere'), ['20 of its 21 known units are missing at once']);
  t.same(await rename('../elsewhere', 'bob'), [null], 'and back');
  t.same([ownedBy('bob'), ownedBy('robert')], [20, 0]);
});

t.test('a sweep forgets whose what is gone was', async t => {
  const root = temporary(t);
  const cacheFile = join(temporary(t), 'scan.db');
  const { scanner } = scanning(t, [storage('repos', `${root}/{owner}/{repo}.git`)], { cacheFile });
  const rows = () => {
    const database = new DatabaseSync(cacheFile, { readOnly: true });
    try {
      return database
        .prepare('SELECT owner FROM owners ORDER BY owner')
        .all()
        .map(({ owner }) => owner);
    } finally {
      database.close();
    }
  };
  bareRepository(join(root, 'alice/app.git'));
  bareRepository(join(root, 'bob/app.git'));
  await scanner.sweep({ kind: 'sweep' }).done;
  t.same(rows(), ['alice', 'bob']);
  rmSync(join(root, 'bob'), { recursive: true });
  await scanner.sweep({ kind: 'sweep' }).done;
  t.same(rows(), ['alice']);
});
