/** Limits in all their shapes, at pushes over a real sshd. */

import { randomBytes } from 'node:crypto';
import t from 'tap';
import { isLong } from '../run-length.ts';
import { commit, commitMany, fileLimit, openLimited, text } from './limited.ts';

t.setTimeout(isLong ? 1_800_000 : 240_000);

const time = async <R>(what: string, work: Promise<R>): Promise<R> => {
  const begun = performance.now();
  const r = await work;
  console.error(`# ${what}: ${Math.round(performance.now() - begun)} ms`);
  return r;
};

const { clone, limit, server } = await time(
  'open',
  openLimited(t, ['owner/a', 'pool/a', 'member/a', 'large/a', 'large/b', 'push/a', 'file/a', 'many/a']),
);

/** A working copy, and pushes of that share of the limit, which does not pack. */
async function pusher(name: string) {
  const work = await clone(name);
  let pushes = 0;
  return async (...shares: readonly number[]) => {
    const files = shares.map((share, at) => [`${pushes}-${at}`, randomBytes(share * fileLimit)]);
    pushes += 1;
    await commit(work, Object.fromEntries(files));
    return time(`push ${name} ${shares}`, work.push());
  };
}

const passes = { code: 0, said: '' };
const over = (bytes: number) => bytes > fileLimit;

t.test('each shape of limit refuses pushes over it, and lets through what fits', async t => {
  await time(
    'limits',
    Promise.all([
      limit(['owner'], { owner: fileLimit }),
      limit(['pool', 'member'], { group: fileLimit }),
      limit(['large'], { repository: fileLimit }),
      limit(['push'], { push: fileLimit }),
      limit(['file'], { file: fileLimit }),
    ]),
  );
  const shapes = {
    owner: async () => {
      const push = await pusher('owner/a');
      t.match(await push(1.1), passes, 'what has started finishes');
      await server.usageIs('owner', over);
      t.match(await push(0.1), { code: 1, said: /^Quota exceeded: owner's repositories use / });
    },
    group: async () => {
      const push = await pusher('pool/a');
      const member = await pusher('member/a');
      t.match(await push(0.6), passes);
      t.match(await member(0.5), passes);
      await server.usageIs('pool', bytes => bytes > 0.6 * fileLimit);
      await server.usageIs('member', bytes => bytes > 0.5 * fileLimit);
      t.match(await push(0.1), { code: 1, said: /^The group pool-member's repositories have 1\d/ });
    },
    repository: async () => {
      const push = await pusher('large/a');
      const beside = await pusher('large/b');
      t.match(await push(1.1), passes);
      await server.usageIs('large', over);
      t.match(await push(0.1), { code: 1, said: /^Repository large\/a is too large: it has 1\d/ });
      t.match(await beside(0.1), passes, 'another one of the same owner');
    },
    push: async () => {
      const push = await pusher('push/a');
      t.match(await push(0.6, 0.6), { code: 1, said: /^This push brings 1.2 MB; a push may bring 1 MB\./ });
    },
    file: async () => {
      const push = await pusher('file/a');
      t.match(await push(0.8, 0.8), passes, 'several that are small enough');
      t.match(await push(0.8, 1.1), { code: 1, said: /^1-1 has 1.1 MB; a file may have 1 MB\./ });
    },
  };
  for (const shape of Object.values(shapes)) await shape();
});

t.test('many', async t => {
  await limit(['many'], { file: fileLimit });
  const work = await clone('many/a');
  await commit(work, { one: 'one' });
  t.match(await time('push 1', work.push()), { code: 0 });
  await time('commitMany', commitMany(work, 'many'));
  t.match(await time('push many', work.push(['many'])), { code: 0 });
  await time('commitMany', commitMany(work, 'more', { large: text(1.4 * fileLimit) }));
  const { said } = await time('push more', work.push(['more']));
  console.error(said);
});
