/** Limits in all their shapes, at pushes over a real sshd; in the long run with the sizes that hosts have. */

import { randomBytes } from 'node:crypto';
import t from 'tap';
import { formatBytes } from '../../src/text.ts';
import { isLong } from '../run-length.ts';
import { commit, commitMany, fileLimit, openLimited, text } from './limited.ts';

t.setTimeout(isLong ? 1_800_000 : 240_000);

const limitBytes = 1_000_000;
const passes = { code: 0, said: '' };
const { clone, limit, server } = await openLimited(t, [
  'owner/a',
  'pool/a',
  'member/a',
  'large/a',
  'large/b',
  'push/a',
  'file/a',
  'many/a',
]);

/** Commits a file of each size, which does not pack, and pushes. */
async function pusher(name: string) {
  const work = await clone(name);
  return async (...sizes: readonly number[]) => {
    const files = sizes.map((size, at) => [`${size}-${at}`, randomBytes(size)]);
    await commit(work, Object.fromEntries(files));
    return work.push();
  };
}

const isOver = (bytes: number) => bytes > limitBytes;

t.test('what an owner stores', async t => {
  await limit(['owner'], { owner: limitBytes });
  const push = await pusher('owner/a');
  t.match(await push(1_100_000), passes, 'what has started finishes');
  await server.usageIs('owner', isOver);
  t.match(await push(1000), { code: 1, said: /^Quota exceeded: owner's repositories use 1\.\d+ MB of 1 MB/ });
});

t.test('what the members of a group store together', async t => {
  await limit(['pool', 'member'], { group: limitBytes });
  const push = await pusher('pool/a');
  const member = await pusher('member/a');
  t.match(await push(500_000), passes);
  t.match(await member(600_000), passes);
  await server.usageIs('member', bytes => bytes > 600_000);
  const said =
    /^The group pool-member's repositories have 1\.\d+ MB of 1 MB, of which you have 5\d\d kB\.\nDecided by rule/;
  t.match(await push(1000), { code: 1, said });
});

t.test('what a repository stores', async t => {
  await limit(['large'], { repository: limitBytes });
  const push = await pusher('large/a');
  const beside = await pusher('large/b');
  t.match(await push(1_100_000), passes);
  await server.usageIs('large', isOver);
  t.match(await push(1000), {
    code: 1,
    said: /^Repository large\/a is too large: it has 1\.\d+ MB of 1 MB\./,
  });
  t.match(await beside(1000), passes, 'another one of the same owner');
});

t.test('what a push brings', async t => {
  await limit(['push'], { push: limitBytes });
  const work = await clone('push/a');
  const push = async () => work.push();
  await commit(work, { first: randomBytes(600_000) });
  await commit(work, { second: randomBytes(600_000) });
  t.match(await push(), { code: 1, said: /^This push brings 1\.2 MB; a push may bring 1 MB\./ });
  t.match(await work.push(['HEAD~1:refs/heads/main']), passes, 'the oldest commits first');
  t.match(await push(), passes);
});

t.test('what a file has', async t => {
  await limit(['file'], { file: limitBytes });
  const push = await pusher('file/a');
  t.match(await push(700_000, 700_000), passes, 'several that are small enough');
  t.match(await push(2000, 1_100_000), { code: 1, said: /^1100000-1 has 1\.1 MB; a file may have 1 MB\./ });
});

t.test('many objects pass, and a large file among them is named', async t => {
  await limit(['many'], { file: fileLimit });
  const work = await clone('many/a');
  await commit(work, { one: 'one' });
  t.match(await work.push(), passes, 'one object');
  await commitMany(work, 'small');
  t.match(await work.push(['small']), passes);
  await commitMany(work, 'large', { 'a large file': text(1.4 * fileLimit) });
  const words = `a large file has ${formatBytes(1.4 * fileLimit)}; a file may have ${formatBytes(fileLimit)}.`;
  const { code, said } = await work.push(['large']);
  t.equal(code, 1);
  t.match(said, words);
});
