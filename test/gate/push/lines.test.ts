/** git's lines: what becomes of the refs, and which of them would make a repository. */

import t from 'tap';
import { linesText, readChanges } from '../../../src/gate/push/request.ts';
import { runToEnd } from '../../../src/turns.ts';
import { creates, deletes, updates } from './world.ts';

const changes = (lines: string) => runToEnd(readChanges(lines));
const text = (bytes: Buffer) => runToEnd(linesText(bytes));
const levels = (count: number) => ['refs', ...Array.from({ length: count - 1 }, () => 'x')].join('/');

t.test('created, updated and deleted refs are told apart by zeros', async t => {
  const lines = creates('refs/heads/a', 'refs/heads/bc') + updates('refs/heads/d') + deletes('refs/tags/e');
  t.match(changes(lines), {
    created: 2,
    updated: 1,
    deleted: 1,
    createdCharacters: 25,
    isNested: false,
    tooDeep: null,
    hashLength: 40,
  });
  t.match(changes(''), { created: 0, updated: 0, deleted: 0, arePulls: false });
  const sha256 = `${'0'.repeat(64)} ${'a'.repeat(64)} refs/heads/a\n`;
  t.match(changes(sha256), { created: 1, hashLength: 64 });
});

t.test('what is no line of git counts as a ref that is written', async t => {
  for (const line of ['x', 'x y', '\n', '0 0', ' ', `${'0'.repeat(40)}`]) {
    const { created, updated, deleted } = changes(`${line}\n`.slice(0, Math.max(1, line.length)));
    t.match([created + updated > 0, deleted], [true, 0], JSON.stringify(line));
  }
  t.match(changes(creates('refs/heads/a').trimEnd()), { created: 1 }, 'without an end of line');
});

t.test('ten levels are few, fifty are the most, and deleting has no bound', async t => {
  t.match(changes(creates(levels(10))), { isNested: false, tooDeep: null });
  t.match(changes(creates(levels(11))), { isNested: true, tooDeep: null });
  t.match(changes(updates(levels(11))), { isNested: false });
  t.match(changes(creates(levels(50))), { tooDeep: null });
  t.equal(changes(creates(levels(51))).tooDeep, levels(51));
  t.equal(changes(updates(levels(51))).tooDeep, levels(51));
  t.equal(changes(deletes(levels(99))).tooDeep, null);
});

t.test('pull requests of a forge are told by their names', async t => {
  t.equal(changes(creates('refs/pull/1/head', 'refs/pull/22/head')).arePulls, true);
  for (const other of [
    'refs/heads/a',
    'refs/pull/x/head',
    'refs/pull/1/merge',
    'refs/pull/1/head/x',
    'refs/pull//head',
  ]) {
    t.equal(changes(creates('refs/pull/1/head', other)).arePulls, false, other);
  }
});

t.test('refs that would make a folder a repository for git', async t => {
  const made = (names: readonly string[], existing: readonly string[] = []) =>
    changes(creates(...names)).folders.repositoryWith(existing);
  t.equal(made(['refs/heads/x/HEAD', 'refs/heads/x/objects/a', 'refs/heads/x/refs/a']), 'refs/heads/x');
  t.equal(made(['refs/heads/x/HEAD', 'refs/heads/x/commondir']), 'refs/heads/x');
  t.equal(made(['refs/heads/x/HEAD', 'refs/heads/x/objects/a/b']), 'refs/heads/x');
  t.equal(made(['refs/HEAD', 'refs/objects/a']), 'refs');
  t.equal(made(['refs/heads/x/HEAD']), null);
  t.equal(made(['refs/heads/x/HEAD'], ['refs/heads/x/objects']), 'refs/heads/x');
  t.equal(made(['refs/heads/x/HEAD'], ['refs/heads/x/commondir']), 'refs/heads/x');
  t.equal(made(['refs/heads/x/HEAD'], ['refs/heads/y/objects']), null);
  t.equal(made(['refs/heads/x/objects/a'], ['refs/heads/x/HEAD']), 'refs/heads/x');
  t.equal(made(['refs/heads/x/commondir'], ['refs/heads/x/HEAD']), 'refs/heads/x');
  t.equal(made(['refs/heads/x/refs/a'], ['refs/heads/x/HEAD']), null);
  t.equal(made(['refs/heads/x/refs/a'], ['refs/heads/x/HEAD', 'refs/heads/x/objects']), 'refs/heads/x');
  t.equal(made(['refs/heads/objects/a', 'refs/heads/HEAD']), 'refs/heads', 'on any level');
  for (const plain of [
    'refs/heads/HEADS',
    'refs/heads/x/HEAD/y',
    'refs/heads/objects',
    'refs/heads/xobjects/a',
  ]) {
    t.same(changes(creates(plain)).folders.wanted, [], plain);
  }
  t.same(changes(deletes('refs/heads/x/HEAD')).folders.wanted, [], 'deleting makes nothing');
  t.same(changes(updates('refs/heads/x/HEAD')).folders.wanted, [
    'refs/heads/x/objects',
    'refs/heads/x/commondir',
  ]);
});

t.test('folders that have to be looked for are bounded', async t => {
  const names = (count: number) => Array.from({ length: count }, (_, at) => `refs/heads/${at}/HEAD`);
  t.equal(changes(creates(...names(1000))).folders.areTooMany, false);
  const { folders } = changes(creates(...names(1001)));
  t.match([folders.areTooMany, folders.wanted.length], [true, 2000]);
});

t.test('lines are any bytes', async t => {
  const [before = '', after = ''] = [creates('refs/heads/'), '\n'];
  const bytes = Buffer.concat([Buffer.from(before.trimEnd()), Buffer.of(0xe9), Buffer.from(after)]);
  t.equal(text(bytes), `${before.trimEnd()}\udce9\n`);
  t.equal(text(Buffer.from('a\nb')), 'a\nb');
  t.equal(text(Buffer.from('')), '');
});

t.test('a mebibyte is read in small steps, whatever it holds', async t => {
  const kinds = {
    lines: creates('refs/heads/x').repeat(11_000),
    'empty lines': '\n'.repeat(1024 * 1024),
    'levels that tell': creates('/objects/refs'.repeat(20)).repeat(3000),
  };
  for (const [name, lines] of Object.entries(kinds)) {
    t.ok(stepsOf(readChanges(lines)) >= Math.floor((lines.split('\n').length - 1) / 32), name);
  }
  const foreign = Buffer.concat([Buffer.alloc(1000, 0xff), Buffer.from('\n')]);
  t.equal(stepsOf(linesText(Buffer.alloc(foreign.length * 1000, foreign))), 1000, 'lines that are not UTF-8');
});

t.test('a line that is longer than any of git is taken as it is', async t => {
  t.equal(text(Buffer.alloc(1024 * 1024, 0xff)), `${'\xff'.repeat(1024 * 1024)}\n`);
});

function stepsOf(work: Generator<void>): number {
  let steps = 0;
  while (!work.next().done) steps++;
  return steps;
}
