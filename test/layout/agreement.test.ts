/** Random trees under random templates, against a matcher that is too plain to be wrong. */

import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import fc from 'fast-check';
import t from 'tap';
import { inspect, locate, parseTemplate, type StorageKind, storageKinds } from '../../src/layout/index.ts';
import {
  discovered,
  emptyDirectory,
  excluded,
  layoutOf,
  makeDirectory,
  makeLink,
  makeRepository,
  storage,
} from './world.ts';

interface Entry {
  readonly path: string;
  readonly is: 'directory' | 'repository' | 'link';
}

interface Configured {
  readonly kind: StorageKind;
  /** Below the storage's directory. */
  readonly template: string;
}

const name = fc.constantFrom(
  'a',
  'b',
  'n',
  'a.git',
  'b.git',
  'a.wiki.git',
  'lfs',
  'wiki',
  '.snapshot',
  'b\udcff',
);
const path = fc
  .array(name, { minLength: 1, maxLength: 5 })
  .map(names => names.map(one => `/${one}`).join(''));
/** Literal ends that both templates and directories often have, so that they often meet. */
const end = fc.constantFrom('/lfs', '/wiki', '/lfs/wiki');
const is = fc.constantFrom('directory', 'repository', 'repository', 'link');
const entries: fc.Arbitrary<Entry[]> = fc
  .array(fc.tuple(fc.record({ path, is }), fc.array(fc.record({ end, is }), { maxLength: 2 })), {
    maxLength: 10,
  })
  .map(entries =>
    entries.flatMap(([entry, ends]) => [
      entry,
      ...ends.map(({ end, is }) => ({ path: entry.path + end, is })),
    ]),
  );
const template = fc
  .tuple(
    fc.constantFrom('/n', '/n', '/n/n', '/n/a'),
    fc.constantFrom('', '/{owner}', '/{owner}', '/{owner}', '/*', '/*/{owner}', '/{owner}.git'),
    fc.constantFrom('', '/{repo}', '/{repo}.git', '/{repo}.git', '/a{repo}.git', '/{repo}.wiki.git'),
    fc.constantFrom('', '', '/lfs'),
  )
  .map(parts => parts.join(''));
const kind = fc.constantFrom('repos', 'repos', 'wiki', ...storageKinds);
const configured: fc.Arbitrary<Configured[]> = fc
  .array(fc.tuple(fc.record({ kind, template }), fc.array(fc.record({ kind, end }), { maxLength: 2 })), {
    minLength: 1,
    maxLength: 3,
  })
  .map(templates =>
    templates.flatMap(([one, ends]) => [
      one,
      ...ends.map(({ kind, end }) => ({ kind, template: one.template + end })),
    ]),
  );

/** Makes the entries that can be made, in order, and gives what the disk then holds below `at`. */
function make(
  at: string,
  entries: readonly Entry[],
  configured: readonly Configured[],
): Map<string, Entry['is']> {
  const fixed = configured.map(fixedOf);
  const tree = new Map<string, Entry['is']>();
  const put = (path: string, is: Entry['is']): void => {
    const names = path.split('/').slice(1);
    const above = names.map((_, index) => `/${names.slice(0, index + 1).join('/')}`);
    if (above.some(one => tree.get(one) === 'link')) return;
    // A linked fixed part is another place than its name says: told elsewhere.
    if (is === 'link' && (tree.has(path) || fixed.some(one => `${one}/`.startsWith(`${path}/`)))) return;
    for (const one of above.slice(0, -1)) if (!tree.has(one)) tree.set(one, 'directory');
    if (is === 'repository' || !tree.has(path)) tree.set(path, is);
    if (is === 'link') makeLink(`${at}${path}`, `${at}/n`);
    else if (is === 'repository') makeRepository(`${at}${path}`);
    else makeDirectory(`${at}${path}`);
    if (is !== 'repository') return;
    for (const inside of ['/objects', '/refs', '/refs/heads']) tree.set(`${path}${inside}`, 'directory');
  };
  for (const path of ['/n/n', '/n/a']) put(path, 'directory');
  for (const { path, is } of entries) put(path.startsWith('/n') ? path : `/n${path}`, is);
  return tree;
}

function patternOf({ template }: Configured): RegExp {
  const source = template
    .replaceAll('.', '\\.')
    .replaceAll('*', '[^/]+')
    .replace('{owner}', '(?<owner>[^/]+)')
    .replace('{repo}', '[^/]+(?:/[^/]+)*');
  return new RegExp(`^${source}$`, 's');
}

interface Placed {
  readonly path: string;
  readonly kind: StorageKind;
  readonly owner: string | undefined;
}

/** The units, by asking each directory from the top whether any template matches its whole path. */
function plainly(tree: ReadonlyMap<string, Entry['is']>, templates: readonly Configured[]): Placed[] {
  const isDirectory = (path: string) => tree.has(path) && tree.get(path) !== 'link';
  const best = (path: string, among: readonly Configured[]) =>
    among
      .filter(({ kind }) => !['repos', 'wiki'].includes(kind) || tree.get(path) === 'repository')
      .toSorted(
        (a, b) => literals(b) - literals(a) || storageKinds.indexOf(a.kind) - storageKinds.indexOf(b.kind),
      );
  const isExcluded = (path: string, from: string) =>
    path
      .slice(from.length)
      .split('/')
      .some(one => excluded.includes(one));
  const placed: Placed[] = [];
  const visit = (path: string): void => {
    if (!isDirectory(path)) return;
    const matches = best(
      path,
      templates.filter(one => patternOf(one).test(path) && !isExcluded(path, fixedOf(one))),
    );
    const [winner] = matches;
    if (winner === undefined) {
      for (const child of tree.keys()) if (child.replace(/\/[^/]*$/, '') === path) visit(child);
      return;
    }
    placed.push({ path, kind: winner.kind, owner: ownerBy(winner, path) });
    const rests = new Map<string, Configured[]>();
    for (const one of templates) {
      for (const taker of matches) {
        const rest = one.template.startsWith(`${taker.template}/`)
          ? one.template.slice(taker.template.length)
          : '{';
        if (/[{*]/.test(rest) || isExcluded(rest, '')) continue;
        rests.set(rest, [...(rests.get(rest) ?? []), one]);
      }
    }
    for (const [rest, among] of rests) {
      const [inner] = isDirectory(`${path}${rest}`) ? best(`${path}${rest}`, among) : [];
      if (inner === undefined) continue;
      placed.push({ path: `${path}${rest}`, kind: inner.kind, owner: ownerBy(inner, `${path}${rest}`) });
    }
  };
  visit('/n');
  return placed.sort((a, b) => (a.path < b.path ? -1 : 1));
}

function ownerBy(one: Configured, path: string): string | undefined {
  return patternOf(one).exec(path)?.groups?.owner;
}

function literals({ template }: Configured): number {
  return template.replaceAll(/\{\w+\}|\*/g, '').length;
}

function fixedOf({ template }: Configured): string {
  const parsed = parseTemplate(template);
  return parsed.ok ? parsed.value.fixed : '';
}

t.test('the units found are those that a plain matcher finds, each once, each byte in one', async t => {
  const at = emptyDirectory(t);
  fc.assert(
    fc.property(entries, configured, (entries, configured) => {
      rmSync(`${at}/n`, { recursive: true, force: true });
      const tree = make(at, entries, configured);
      const layout = layoutOf(
        ...configured.map(({ kind, template }) => storage({ kind, templates: [`${at}${template}`] })),
      );
      const { units, unread } = discovered(layout);
      const isPresent = (one: Configured) => tree.has(fixedOf(one)) && tree.get(fixedOf(one)) !== 'link';
      const expected = plainly(tree, configured.filter(isPresent));
      assert.deepEqual(
        units.map(({ unit }) => [unit.path.slice(at.length), unit.kind, unit.owner]),
        expected.map(({ path, kind, owner }) => [path, kind, owner?.isWellFormed() ? owner : null]),
      );
      const links = unread.filter(({ error }) => error === 'ELOOP').map(each => each.path.slice(at.length));
      assert.deepEqual(
        new Set(links.map(path => tree.get(path) ?? 'link')),
        new Set(links.map(() => 'link')),
      );
      const outside = unread.filter(({ error }) => error !== 'ENOENT' && error !== 'ELOOP');
      assert.deepEqual(outside, []);

      const paths = expected.map(one => one.path);
      const containing = (path: string) =>
        paths.filter(one => path === one || path.startsWith(`${one}/`)).sort((a, b) => b.length - a.length);
      for (const { unit, inner } of units) {
        const own = unit.path.slice(at.length);
        const within = paths.filter(path => path !== own && containing(path)[1] === own);
        assert.deepEqual(inner.map(path => path.slice(at.length)).sort(), within.sort());
        assert.deepEqual(inspect(layout, unit.path), { found: 'unit', unit, inner, exists: true });
      }
      for (const [path, is] of tree) {
        if (is === 'link') continue;
        const located = locate(layout, `${at}${path}`);
        const [deepest] = containing(path);
        assert.equal(
          located.found === 'unit' ? located.unit.path.slice(at.length) : undefined,
          deepest,
          path,
        );
        assert.equal(inspect(layout, `${at}${path}`).found === 'unit', paths.includes(path));
      }
    }),
    { numRuns: 100 },
  );
});
