/** Pushes without a pause: what they brought counts while they last. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { isLong } from '../run-length.ts';
import { pushedTo } from './pushed.ts';
import { independentCount, scanning, storage } from './world.ts';

const pushers = 6;
const filesEach = 3;
const bytesEach = filesEach * 20_000;
const mostPushes = 200;
/** What a push keeps in the repository while it lasts, and takes away: the locks of refs, `.keep` of a pack. */
const mostSignsBytes = 1000;
const enoughPushes = isLong ? 15 : 9;

t.setTimeout(600_000);

interface Server {
  /** Settings of the repository. */
  readonly config: readonly string[];
  /** It has the sign of a gc on another host, which never ends. */
  readonly isCollected?: true;
}

const servers: Readonly<Record<string, Server>> = {
  'loose objects': { config: [] },
  packs: { config: ['receive.unpackLimit=1'] },
  'packs, and a gc that the pushes start': { config: ['receive.unpackLimit=1', 'gc.autoPackLimit=5'] },
  'loose objects, and a gc that goes on': { config: [], isCollected: true },
  'packs, and a gc that goes on': { config: ['receive.unpackLimit=1'], isCollected: true },
};

for (const [name, { config, isCollected = false }] of Object.entries(servers)) {
  t.test(`${name}: pushes without a pause count while they last`, async t => {
    const { root, repository, push, pusher } = await pushedTo(t, ...config);
    const { scanner, book } = scanning(t, [storage('repos', `${root}/{owner}/{repo}.git`)]);
    await push(filesEach);
    await scanner.sweep({ kind: 'sweep' }).done;
    if (isCollected) writeFileSync(join(repository, 'gc.pid'), '1 another.host.example');
    const bytes = (): number => book.bytes(repository) ?? 0;
    const enough = bytes() + enoughPushes * bytesEach;
    let pushes = 0;
    const work = async (branch: string): Promise<void> => {
      const pushOn = await pusher(branch);
      while (bytes() < enough && pushes < mostPushes) {
        await pushOn(filesEach);
        pushes += 1;
        // As post-receive does, for which nobody waits.
        void scanner.measureSoon(repository);
      }
    };
    await Promise.all(Array.from({ length: pushers }, (_, number) => work(`branch-${number}`)));
    t.ok(bytes() >= enough, `of ${pushes} pushes ${enoughPushes} count`);
    const most = independentCount(repository).bytes + pushers * mostSignsBytes;
    const above = book.reported.filter(reported => reported.bytes > most);
    if (config.length < 2) t.same(above, [], 'and nothing counts that is not there');
  });
}
