/** No quarantine in use is touched, and what a worker breaks that is misled breaks no repository. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { must, plainEnvironment, run } from '../../../e2e/run.ts';
import { noise } from '../../../noise.ts';
import { numbersFrom } from '../../../numbers.ts';
import { lengthOf } from '../../../run-length.ts';
import { World } from './world.ts';

const pushes = lengthOf(40, 1000);
const seed = Number(process.env.SOFTQUOTA_SEED ?? Math.floor(Math.random() * 2 ** 31));

t.setTimeout(14_400_000);

/** Pushes of random sizes, some at once; returns how many failed. */
async function pushing(world: World, count: number, asUser: (at: number) => object): Promise<number> {
  const random = numbersFrom(seed);
  // git asks the owner of a repository whether it may be used by others. A collection that receive-pack
  // begins ends with the push, so that fsck finds all packs that it has listed.
  const settings = join(world.folder, 'gitconfig');
  await writeFile(settings, '[safe]\n\tdirectory = *\n[gc]\n\tautoDetach = false\n');
  let failed = 0;
  let at = 0;
  const pusher = async (who: number): Promise<void> => {
    const clone = join(world.folder, `clone-${who}`);
    await must('git', ['init', '-q', '-b', 'main', clone]);
    while (at < count) {
      const turn = at++;
      await writeFile(join(clone, 'file'), noise(`${seed} ${turn}`, 1 + random(200_000)));
      await must('git', ['add', '--all'], { cwd: clone });
      await must('git', ['commit', '-q', '-m', 'x'], { cwd: clone });
      const git = spawn('git', ['push', '-q', '--force', world.bare, `HEAD:refs/heads/b${who}`], {
        cwd: clone,
        env: { ...plainEnvironment, GIT_CONFIG_GLOBAL: settings },
        stdio: 'ignore',
        ...asUser(who),
      });
      const [code] = await once(git, 'exit');
      if (code !== 0) failed += 1;
    }
  };
  await Promise.all([pusher(0), pusher(1), pusher(2)]);
  return failed;
}

for (const isShared of [false, true]) {
  const whose = isShared ? ' of pushers with users of their own' : '';
  t.test(
    `no push${whose} fails beside a worker that looks all the time (SOFTQUOTA_SEED=${seed})`,
    async t => {
      const world = await World.open(t);
      if (!isShared) await world.server('config', 'receive.unpackLimit', '100');
      else {
        await world.server('config', 'core.sharedRepository', 'all');
        await must('chmod', ['-R', 'a+rwX', world.folder]);
        await chown(world.folder, 0, 20_000);
      }
      let isOver = false;
      const looking = (async () => {
        while (!isOver) await world.quarantines.removeIn(world.bare);
      })();
      const asUser = (who: number) => (isShared ? { uid: 20_000 + who, gid: 20_000 } : {});
      const failed = await pushing(world, pushes, asUser).finally(async () => {
        isOver = true;
        await looking;
      });
      t.equal(failed, 0);
      t.same(world.quarantines.report().removed, []);
      const fsck = await run('git', ['-c', 'safe.directory=*', 'fsck', '--strict'], { cwd: world.bare });
      t.equal(fsck.code, 0, fsck.stderr);
    },
  );
}
