/**
 * Pushes of an owner over the limit: what the refs reach never grows, and no push is refused that would have
 * made it less. The second is found out by the same push into a copy without hooks.
 */

import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { noise } from '../../../noise.ts';
import { numbersFrom, oneOf } from '../../../numbers.ts';
import { lengthOf } from '../../../run-length.ts';
import { World } from './world.ts';

const pushes = lengthOf(50, 1000);
const seed = Number(process.env.SOFTQUOTA_SEED ?? Math.floor(Math.random() * 2 ** 31));

t.setTimeout(14_400_000);

const refs = ['refs/heads/main', 'refs/heads/one', 'refs/heads/two', 'refs/tags/light', 'refs/tags/signed'];

t.test(`over the limit a repository never grows (SOFTQUOTA_SEED=${seed})`, async t => {
  const random = numbersFrom(seed);
  const world = await World.open(t);
  const copy = join(world.folder, 'copy.git');
  let files = 0;

  const git = (...args: readonly string[]) => world.run('git', args, { cwd: world.work });
  async function addFile(): Promise<void> {
    const name = `file-${++files % 12}`;
    const bytes = oneOf([10, 300, 3000, 20_000, 60_000], random);
    await writeFile(join(world.work, name), noise(`${files}`, bytes));
    await git('add', name);
  }

  /** Changes the clone in one of many ways. */
  async function change(): Promise<void> {
    const depth = 1 + random(3);
    await oneOf(
      [
        async () => {
          await addFile();
          await git('commit', '-q', '-m', 'more');
        },
        async () => {
          await addFile();
          await git('commit', '-q', '--amend', '-m', 'other');
        },
        async () => {
          await git('rm', '-q', '-f', `file-${random(12)}`);
          await git('commit', '-q', '-m', 'less');
        },
        async () => {
          await git('reset', '-q', '--hard', `HEAD~${depth}`);
        },
        async () => {
          await git('reset', '-q', '--soft', `HEAD~${depth}`);
          await git('commit', '-q', '-m', 'squashed');
        },
        async () => {
          await git('rebase', '-q', '--onto', `HEAD~${depth + 1}`, `HEAD~${depth}`);
          await git('rebase', '--abort');
        },
        async () => {
          await git('checkout', '-q', '--detach');
          await git('branch', '-q', '-D', 'fresh');
          await git('checkout', '-q', '--orphan', 'fresh');
          await git('commit', '-q', '-m', 'fresh');
        },
        async () => {
          await git('fetch', '-q', 'origin', '+refs/*:refs/remote/*');
          await git('reset', '-q', '--hard', oneOf(refs, random).replace('refs/', 'refs/remote/'));
        },
        async () => {
          await git('tag', '-f', '-a', '-m', 'a tag', 'made');
        },
      ],
      random,
    )();
  }

  /** The arguments of one push. */
  function order(): readonly string[] {
    const flags = [...(random(10) < 7 ? ['--force'] : []), ...(random(10) < 2 ? ['--atomic'] : [])];
    const chosen = refs.filter(() => random(10) < 5);
    return [
      ...flags,
      ...(chosen.length === 0 ? [oneOf(refs, random)] : chosen).map(ref => {
        const from = oneOf(['', 'HEAD', 'HEAD', 'HEAD~1', 'made', 'HEAD^{tree}', 'HEAD:file-3'], random);
        // git takes only commits into branches.
        const isOther = from === 'made' || from.includes('^') || from.includes(':');
        return `${isOther && ref.startsWith('refs/heads') ? 'HEAD' : from}:${ref}`;
      }),
    ];
  }

  for (let n = 0; n < 8; n++) {
    await addFile();
    await git('commit', '-q', '-m', 'first');
  }
  await world.passes('HEAD:refs/heads/main', 'HEAD~3:refs/heads/one', 'HEAD~5:refs/tags/light');
  world.over = 'any';

  const came = { judged: 0, refused: 0, unasked: 0 };
  // A few seeds have only one kind of answer in so few pushes.
  const isShort = () => came.judged === 0 || came.refused === 0;
  for (let n = 0; n < pushes || (isShort() && n < 4 * pushes); n++) {
    for (let steps = random(3); steps >= 0; steps--) await change();
    // Now and then there was room for more, or the server collected its garbage.
    if (random(8) === 0) {
      world.over = null;
      world.judgements.look();
      await addFile();
      await git('commit', '-q', '-m', 'room');
      await world.push(['--force', `HEAD:${oneOf(refs, random)}`]);
      world.over = 'any';
    }
    if (random(20) === 0) {
      await world.server('repack', '-a', '-d', '-q');
      await world.server('prune', '--expire=now');
    }
    const args = order();
    const before = await world.reachable();
    const { asked } = world;

    const push = await world.push(args);
    await world.ended();
    const after = await world.reachable();
    const what = `push ${n}, git push origin ${args.join(' ')}: ${before} became ${after}\n${push.stderr}`;
    if (after > before) t.fail(what);
    const wasAsked = world.asked > asked;
    if (!wasAsked) came.unasked += 1;
    else if (push.stderr.includes('pre-receive hook declined')) {
      came.refused += 1;
      // It left the repository as it was. Links do, as git never writes into a file of objects or refs.
      await rm(copy, { recursive: true, force: true });
      await world.must('cp', ['-al', world.bare, copy]);
      await rm(join(copy, 'hooks'), { recursive: true });
      await world.run('git', ['push', copy, ...args], { cwd: world.work });
      const free = await world.reachable(copy);
      const isHeld = world.last.includes('git did only a part of it');
      if (free < before && !isHeld) t.fail(`refused, though it would have been ${free}: ${what}`);
    } else came.judged += 1;
    if (n % 500 === 499) t.comment(`${n + 1} pushes: ${JSON.stringify(came)}`);
  }
  t.comment(JSON.stringify(came));
  t.ok(came.judged > 0 && came.refused > 0, JSON.stringify(came));
  t.equal((await world.run('git', ['-C', world.bare, 'fsck', '--strict'])).code, 0);
});
