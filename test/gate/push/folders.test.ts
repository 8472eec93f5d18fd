/**
 * Names that git would take for a repository of its own: in one push, beside what is there, by pushes at
 * once.
 */

import t, { type Test } from 'tap';
import { creates, openPushWorld, unit, updates } from './world.ts';

const isRepository = /git would take refs\/heads\/x for a repository of its own\. Choose other names\./;

async function open(t: Test) {
  const world = await openPushWorld(t);
  let count = 0;
  /** Asks as another push. */
  const push = (lines: string, fields: Readonly<Record<string, string>> = {}) => {
    const name = `tmp_objdir-incoming-${String(count++).padStart(6, '0')}`;
    world.brings(10, { name, id: name });
    return world.push({ lines, fields: { GIT_QUARANTINE_PATH: name, ...fields } });
  };
  return { ...world, push };
}

t.test('what the repository has already makes one as well, whether created or updated', async t => {
  const { push, services } = await open(t);
  const asked: string[] = [];
  services.existingNames = async (path, names) => {
    asked.push(`${path} ${names}`);
    return names.filter(name => name === 'refs/heads/x/HEAD');
  };
  t.match(await push(creates('refs/heads/x/objects/a')), { status: 413, text: isRepository });
  t.same(asked, [`${unit} refs/heads/x/HEAD,refs/heads/x/commondir`]);
  t.match(await push(updates('refs/heads/x/objects/a')), { status: 413, text: isRepository });
  t.match(await push(creates('refs/heads/main')), { status: 200 });
  t.equal(asked.length, 2, 'nothing is looked for where no name has such a level');
});

t.test('pushes at once do not make a repository together', async t => {
  const { push, timing } = await open(t);
  const parts = ['HEAD', 'objects/a', 'refs/a', 'commondir'];
  const answers = await Promise.all(parts.map(part => push(creates(`refs/heads/x/${part}`))));
  const passed = parts.filter((_, index) => answers[index]?.status === 200);
  t.notOk(
    passed.includes('HEAD') && (passed.includes('objects/a') || passed.includes('commondir')),
    passed.join(),
  );
  t.ok(passed.includes('refs/a'));
  const same = { GIT_QUARANTINE_PATH: 'incoming-aaaaaa' };
  t.equal((await push(creates('refs/heads/y/HEAD'), same)).status, 200);
  t.equal((await push(creates('refs/heads/y/HEAD'), same)).status, 200, 'the same question');
  const other = creates('refs/heads/y/commondir');
  t.match(await push(other), { status: 413, text: /git would take refs\/heads\/y/ });
  timing.pass(10 * 60_000);
  t.equal((await push(other)).status, 200, 'the disk tells by then');
});

t.test('names under way are only those of the same repository, and have an end', async t => {
  const { push, walk, quarantines } = await open(t);
  const elsewhere = '/srv/git/bob/other.git';
  walk(elsewhere, 'bob', 1);
  t.equal((await push(creates('refs/heads/x/HEAD'))).status, 200);
  quarantines.set(`${elsewhere} incoming-aaaaaa`, 'unreadable');
  const there = { directory: elsewhere, GIT_QUARANTINE_PATH: 'incoming-aaaaaa' };
  t.equal((await push(creates('refs/heads/x/objects/a'), there)).status, 200);
  const long = (index: number) => `refs/heads/${index}${'/y'.repeat(40)}${'y'.repeat(3000)}/HEAD`;
  let refused = 0;
  for (let at = 0; at < 85; at++) if ((await push(creates(long(at)))).status === 413) refused++;
  t.ok(refused > 0 && refused < 20, `${refused} are refused`);
  t.match(await push(creates(long(99))), { status: 413, text: /too many names of refs/ });
  t.equal((await push(creates('refs/heads/plain'))).status, 200);
});
