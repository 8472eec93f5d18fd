/** Names that git would take for a repository of its own, and those that are too deep. */

import t, { type Test } from 'tap';
import { SoftquotaError } from '../../../src/errors.ts';
import { openWorld } from '../world.ts';
import { app, created, push, SetTiming, seen, two, zero } from './asking.ts';

async function open(test: Test, timing?: SetTiming) {
  const world = await openWorld(test, {}, {}, undefined, timing);
  world.walk(app, 'alice', 1000);
  world.told.pushServices.look = async (_unit, name) => seen(name, 10);
  return world;
}

const isRepository = /git would take refs\/heads\/x for a repository of its own\. Choose other names\./;

t.test('names that make a folder a repository are refused in one push, also below the limit', async t => {
  const world = await open(t);
  for (const names of [
    ['refs/heads/x/HEAD', 'refs/heads/x/objects/a', 'refs/heads/x/refs/a'],
    ['refs/heads/x/HEAD', 'refs/heads/x/commondir'],
    ['refs/heads/x/objects/a/b', 'refs/heads/x/HEAD'],
  ]) {
    const answer = await push(world, names.join(), created(...names));
    t.equal(answer.status, 413, names.join());
    t.match(answer.text, isRepository);
  }
  t.equal(world.told.pushes.length, 0);
});

t.test('names that only look like those of a repository pass', async t => {
  const world = await open(t);
  for (const names of [
    ['refs/heads/HEAD'],
    ['refs/heads/x/HEAD/y', 'refs/heads/x/objects/a'],
    ['refs/heads/w/objects', 'refs/heads/w/HEAD'],
    ['refs/heads/y/objects/a', 'refs/heads/z/HEAD'],
  ]) {
    t.equal((await push(world, names.join(), created(...names))).status, 200, names.join());
  }
});

t.test('what the repository has already makes one as well, whether created or updated', async t => {
  const world = await open(t);
  const asked: string[] = [];
  world.told.pushServices.existingNames = async (unit, names) => {
    asked.push(`${unit} ${names}`);
    return names.filter(name => name === 'refs/heads/x/HEAD');
  };
  const names = created('refs/heads/x/objects/a');
  t.match(await push(world, 'a', names), { status: 413, text: isRepository });
  t.same(asked, [`${app} refs/heads/x/HEAD,refs/heads/x/commondir`]);
  t.match(await push(world, 'b', names.replace(zero, two)), { status: 413, text: isRepository });
  t.match(await push(world, 'c', created('refs/heads/main')), { status: 200 });
  t.equal(asked.length, 2, 'nothing is looked for where no name has such a level');
});

t.test('pushes at once do not make a repository together', async t => {
  const timing = new SetTiming();
  const world = await open(t, timing);
  const parts = ['HEAD', 'objects/a', 'refs/a', 'commondir'];
  const statuses = await Promise.all(
    parts.map(async part => (await push(world, part, created(`refs/heads/x/${part}`))).status),
  );
  const passed = parts.filter((_, index) => statuses[index] === 200);
  t.notOk(
    passed.includes('HEAD') && (passed.includes('objects/a') || passed.includes('commondir')),
    passed.join(),
  );
  t.ok(passed.includes('refs/a'));
  const other = await push(world, 'other', created('refs/heads/y/HEAD'));
  t.equal(other.status, 200);
  t.equal((await push(world, 'other', created('refs/heads/y/HEAD'))).status, 200, 'the same question');
  t.match(await push(world, 'more', created('refs/heads/y/commondir')), {
    status: 413,
    text: /git would take refs\/heads\/y/,
  });
  timing.pass(10 * 60_000);
  t.equal(
    (await push(world, 'last', created('refs/heads/y/commondir'))).status,
    200,
    'the disk tells by then',
  );
});

t.test('names under way are only those of the same repository, and have an end', async t => {
  const world = await open(t);
  world.walk('/srv/git/alice/other.git', 'alice', 1);
  t.equal((await push(world, 'a', created('refs/heads/x/HEAD'))).status, 200);
  const elsewhere = { directory: '/srv/git/alice/other.git' };
  t.equal((await push(world, 'b', created('refs/heads/x/objects/a'), elsewhere)).status, 200);
  const long = (index: number) => `refs/heads/${index}${'/y'.repeat(40)}${'y'.repeat(3000)}/HEAD`;
  let refused = 0;
  for (let at = 0; at < 85; at++) {
    const answer = await push(world, `long ${at}`, created(long(at)));
    if (answer.status === 413) refused++;
  }
  t.ok(refused > 0 && refused < 20, `${refused} are refused`);
  t.match(await push(world, 'z', created(long(99))), { status: 413, text: /too many names of refs/ });
  t.equal((await push(world, 'plain', created('refs/heads/plain'))).status, 200);
});

t.test('more than a thousand such folders, or more than 50 levels, are refused', async t => {
  const world = await open(t);
  const many = Array.from({ length: 1001 }, (_, index) => `refs/heads/${index}/HEAD`);
  t.match(await push(world, 'many', created(...many)), { status: 413, text: /too many names of refs/ });
  const deep = (levels: number) => `refs/heads${'/d'.repeat(levels - 2)}`;
  t.equal((await push(world, '50', created(deep(50)))).status, 200);
  const answer = await push(world, '51', created(deep(51)));
  t.equal(answer.status, 413);
  t.match(
    answer.text,
    /^softquota: refs\/heads\/d.*\.\.\. has more than 50 levels\. Names with more than 50 /,
  );
});

t.test('a disk that does not answer about names is an answer that decides nothing', async t => {
  const world = await open(t);
  world.told.pushServices.existingNames = async () => {
    throw new SoftquotaError('not_ready', 'the refs of the repository cannot be read');
  };
  const answer = await push(world, 'a', created('refs/heads/x/HEAD'));
  t.match(answer, { status: 503, text: 'softquota: the refs of the repository cannot be read\n' });
});
