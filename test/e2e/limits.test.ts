import t, { type Test } from 'tap';
import { Clone, objectsIn, type Push } from './clone.ts';
import { must } from './run.ts';
import { Server } from './server.ts';

const server = await Server.open(t, { started: false });
const owners = ['bob', 'carol', 'dave'];
for (const owner of owners) await server.repository(`${owner}/app`, owner === 'bob' ? 'sha256' : 'sha1');
await server.installHooks();
await server.start();

/** The repository of the next owner, and a clone; `bytes` are in `main` and counted. */
async function withRepository(t: Test, bytes: number) {
  const owner = owners.shift() ?? '';
  const bare = server.path(`${owner}/app`);
  const clone = await Clone.of(server, bare, { format: owner === 'bob' ? 'sha256' : 'sha1' });
  if (bytes > 0) {
    await clone.commit(bytes);
    const first = await clone.push();
    t.equal(first.code, 0, 'the first push passes, whatever it brings');
    await server.usageIs(owner, used => used >= bytes);
  }
  return { owner, bare, clone };
}

async function refused(t: Test, bare: string, push: () => Promise<Push>): Promise<Push> {
  const before = [await objectsIn(bare), await must('git', ['-C', bare, 'for-each-ref'])];
  const pushed = await push();
  t.not(pushed.code, 0, 'git says that it failed');
  t.match(pushed.said, /^Quota exceeded: \w+ uses/);
  t.strictSame(
    [await objectsIn(bare), await must('git', ['-C', bare, 'for-each-ref'])],
    before,
    'nothing stays',
  );
  return pushed;
}

t.test('after a cleanup, the word of the next hook is enough for pushes to pass again', async t => {
  const { owner, bare, clone } = await withRepository(t, 900_000);
  await clone.git('checkout', '-q', '-b', 'more');
  await clone.commit(2_000_000);
  t.equal((await clone.push(['more', 'main:refs/heads/spare'])).code, 0);
  await server.usageIs(owner, used => used > 2_900_000);
  t.equal((await clone.push(['--delete', 'more'])).code, 0);
  await must('git', ['-C', bare, 'gc', '-q', '--prune=now']);
  // Deleting is not asked about, but told.
  t.equal((await clone.push(['--delete', 'spare'])).code, 0);
  await server.usageIs(owner, used => used < 1_000_000);
  await clone.git('checkout', '-q', 'main');
  await clone.commit(2000);
  t.equal((await clone.push()).code, 0);
});

t.test('over the limit, whatever brings objects is refused, and whatever brings none passes', async t => {
  const { bare, clone } = await withRepository(t, 1_500_000);
  await clone.git('tag', 'light');
  await clone.git('tag', '-a', '-m', 'a release', 'v1');
  await clone.git('notes', 'add', '-m', 'a note');
  await clone.git('checkout', '-q', '-b', 'topic');
  await clone.commit(100);

  await refused(t, bare, () => clone.push(['v1']));
  await refused(t, bare, () => clone.push(['refs/notes/commits']));
  await refused(t, bare, () => clone.push(['topic']));
  await refused(t, bare, () => clone.push(['topic', 'light']));
  await refused(t, bare, () => clone.push(['--atomic', 'topic', 'light']));
  await refused(t, bare, () => clone.push(['--mirror']));

  const dry = await clone.push(['--dry-run', 'topic']);
  t.equal(dry.code, 0, 'a dry run sends nothing, so that nobody is asked');
  t.equal(dry.said, '');
  t.equal((await clone.push(['light'])).code, 0, 'a tag of a commit that is there brings no object');
  t.equal((await clone.push(['main:refs/heads/copy'])).code, 0);
  t.equal((await clone.push(['--delete', 'copy', 'light'])).code, 0);
});

t.test('500 refs pushed at once are one question, and one push', async t => {
  const { owner, bare, clone } = await withRepository(t, 0);
  await clone.commit(1000);
  const [first] = (await clone.git('rev-parse', 'HEAD')).split('\n');
  const commands = Array.from({ length: 500 }, (_, n) => `create refs/heads/b${n} ${first}`);
  await must('git', ['update-ref', '--stdin'], { cwd: clone.folder, input: `${commands.join('\n')}\n` });
  t.match(await clone.push(['refs/heads/b*:refs/heads/b*']), { code: 0, said: '' });
  t.equal((await must('git', ['-C', bare, 'for-each-ref'])).split('\n').length, 500);

  await clone.commit(1_500_000);
  t.equal((await clone.push()).code, 0);
  await server.usageIs(owner, used => used > 1_000_000);
  await refused(t, bare, () => clone.push(['refs/heads/b*:refs/heads/c*']));
  const deletions = Array.from({ length: 500 }, (_, n) => `b${n}`);
  t.match(await clone.push(['--delete', ...deletions]), { code: 0, said: '' }, 'deleting as many passes');
});
