import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { outermost, resolveLayout } from '../../src/layout/index.ts';
import { Directories } from '../../src/scan/directories.ts';
import { bareRepository, fill, storage, temporary } from './world.ts';

interface World {
  /** A path below the root. */
  at(name: string): string;
  readonly directories: Directories;
  /** Results of a pass, by names below the root, sorted. */
  pass(): { readonly found: readonly string[]; readonly gone: readonly string[]; readonly vanished: boolean };
}

function world(t: Test, template: string, ...repositories: readonly string[]): World {
  const root = temporary(t);
  const at = (name: string): string => join(root, name);
  for (const name of repositories) bareRepository(at(name));
  const layout = resolveLayout(
    [storage('repos', `${root}/${template}`), storage('lfs', `${root}/${template}/lfs`)],
    ['.snapshot'],
  );
  const [first] = outermost(layout.roots);
  if (first === undefined) throw new Error('there is no root');
  const directories = new Directories(layout, first);
  const names = (paths: readonly string[]) => paths.map(path => path.slice(root.length + 1)).sort();
  return {
    at,
    directories,
    pass: () => {
      const steps = directories.pass();
      for (;;) {
        const step = steps.next();
        if (step.done !== true) continue;
        const { gone, hasVanished } = step.value;
        return { found: names(directories.takeFound()), gone: names(gone), vanished: hasVanished };
      }
    },
  };
}

const nothing = { found: [], gone: [], vanished: false };

t.test('the first pass finds every unit, and the next one nothing', async t => {
  const { pass, at, directories } = world(t, '{owner}/{repo}.git', 'alice/a.git', 'alice/b.git', 'bob/c.git');
  fill(at('alice/a.git/lfs/12/34'), 5);
  mkdirSync(at('.snapshot/alice'), { recursive: true });
  t.strictSame(pass(), { ...nothing, found: ['alice/a.git', 'alice/a.git/lfs', 'alice/b.git', 'bob/c.git'] });
  t.strictSame(pass(), nothing);
  t.equal(directories.size, 3);
});

t.test('units and owners that come, go and are renamed are told, and those beside them are not', async t => {
  const { pass, at } = world(t, '{owner}/{repo}.git', 'alice/a.git', 'alice/b.git', 'bob/c.git', 'bob/d.git');
  pass();
  bareRepository(at('alice/new.git'));
  bareRepository(at('carol/first.git'));
  rmSync(at('alice/b.git'), { recursive: true });
  t.strictSame(pass(), { ...nothing, found: ['alice/new.git', 'carol/first.git'], gone: ['alice/b.git'] });
  renameSync(at('alice/a.git'), at('alice/renamed.git'));
  renameSync(at('bob'), at('robert'));
  t.strictSame(pass(), {
    ...nothing,
    found: ['alice/renamed.git', 'robert/c.git', 'robert/d.git'],
    gone: ['alice/a.git', 'bob/c.git', 'bob/d.git'],
  });
  rmSync(at('robert'), { recursive: true });
  t.strictSame(pass(), { ...nothing, gone: ['robert/c.git', 'robert/d.git'] });
  t.strictSame(pass(), nothing);
});

t.test('a unit that took the name of another one is told, and not as gone', async t => {
  const { pass, at } = world(t, '{owner}/{repo}.git', 'alice/a.git', 'alice/b.git');
  pass();
  rmSync(at('alice/a.git'), { recursive: true });
  renameSync(at('alice/b.git'), at('alice/a.git'));
  t.strictSame(pass(), { ...nothing, found: ['alice/a.git'], gone: ['alice/b.git'] });
  renameSync(at('alice'), at('aside'));
  bareRepository(at('alice/a.git'));
  rmSync(at('aside'), { recursive: true });
  t.strictSame(pass(), { ...nothing, found: ['alice/a.git'] });
});

t.test('a directory that becomes a repository later is told then', async t => {
  const { pass, at, directories } = world(t, '{owner}/{repo}.git', 'alice/a.git');
  pass();
  mkdirSync(at('alice/new.git'));
  t.strictSame(pass(), nothing);
  mkdirSync(at('alice/new.git/objects'));
  mkdirSync(at('alice/new.git/refs'));
  t.strictSame(pass(), nothing);
  writeFileSync(at('alice/new.git/HEAD'), 'ref: refs/heads/main\n');
  t.strictSame(pass(), { ...nothing, found: ['alice/new.git'] });
  t.strictSame(pass(), nothing);
  t.equal(directories.size, 2, 'and is looked at no more');
});

t.test('groups in groups are looked through', async t => {
  const { pass, at } = world(t, '{owner}/{repo}.git', 'alice/a.git');
  pass();
  bareRepository(at('alice/group/of/groups/b.git'));
  t.strictSame(pass(), { ...nothing, found: ['alice/group/of/groups/b.git'] });
  rmSync(at('alice/group/of'), { recursive: true });
  t.strictSame(pass(), { ...nothing, gone: ['alice/group/of/groups/b.git'] });
});

t.test('where most units go at once none of them is told', async t => {
  const many = Array.from({ length: 60 }, (_, number) => `alice/${number}.git`);
  const { pass, at } = world(t, '{owner}/{repo}.git', ...many, 'bob/b.git');
  pass();
  const elsewhere = join(temporary(t), 'alice');
  renameSync(at('alice'), elsewhere);
  t.strictSame(pass(), { ...nothing, vanished: true });
  renameSync(elsewhere, at('alice'));
  t.strictSame(pass(), { ...nothing, found: [...many].sort() }, 'and once they are back they are');
});

t.test('where most units are removed from a directory that stays, they are told', async t => {
  const many = Array.from({ length: 60 }, (_, number) => `alice/${number}.git`).sort();
  const { pass, at } = world(t, '{owner}/{repo}.git', ...many, 'bob/b.git');
  pass();
  for (const name of many) rmSync(at(name), { recursive: true });
  t.strictSame(pass(), { ...nothing, gone: many, vanished: true });
});

t.test('where most units go with the disk that is mounted there, none of them is told', async t => {
  const many = Array.from({ length: 12 }, (_, number) => `alice/${number}.git`).sort();
  const { pass, at } = world(t, '{owner}/{repo}.git', 'alice/before.git', 'bob/b.git');
  execFileSync('mount', ['-t', 'tmpfs', 'none', at('alice')]);
  const unmount = () => execFileSync('umount', ['-l', at('alice')], { stdio: 'ignore' });
  t.teardown(() => existsSync(at('alice/0.git')) && unmount());
  for (const name of many) bareRepository(at(name));
  pass();
  unmount();
  t.strictSame(pass(), { ...nothing, found: ['alice/before.git'], vanished: true });
});

t.test('a root that is another directory tells nothing', async t => {
  const { pass, at } = world(t, '{owner}/{repo}.git', 'alice/a.git');
  pass();
  const root = at('.').replace(/\/$/, '');
  renameSync(root, `${root}-before`);
  t.teardown(() => rmSync(`${root}-before`, { recursive: true }));
  mkdirSync(root);
  t.strictSame(pass(), nothing);
});

t.test('a thousand names and more in one directory are told apart by their names', async t => {
  const many = Array.from({ length: 1010 }, (_, number) => `alice/${number}.git`);
  const { pass, at } = world(t, '{owner}/{repo}.git', ...many);
  t.equal(pass().found.length, 1010);
  bareRepository(at('alice/new.git'));
  rmSync(at('alice/7.git'), { recursive: true });
  t.strictSame(pass(), { ...nothing, found: ['alice/new.git'], gone: ['alice/7.git'] });
});
