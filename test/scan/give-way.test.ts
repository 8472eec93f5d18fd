/** Order of work where the host is busy. */

import { readdirSync, readFileSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { bareRepository, scanning, storage, temporary } from './world.ts';

/** The priorities of this process' walkers: the higher, the later it is their turn. */
function priorities(): readonly number[] {
  return readdirSync('/proc/self/task')
    .filter(thread => readFileSync(`/proc/self/task/${thread}/comm`, 'utf8') === 'walker\n')
    .map(thread => getPriority(Number(thread)));
}

t.test('a walker that sweeps gives way to all else, and one that was only asked does not', async t => {
  const root = temporary(t);
  const path = join(root, 'alice/a.git');
  bareRepository(path, 100);
  const { scanner } = scanning(t, [storage('repos', `${root}/{owner}/{repo}.git`)], { workers: 1 });
  // The service has it; the runner's own may be low.
  setPriority(-10);
  const own = getPriority();
  const lower = 5;
  t.equal(await scanner.measureSoon(path), 'counted');
  t.strictSame(priorities(), [own]);
  await scanner.sweep({ kind: 'sweep' }).done;
  t.strictSame(priorities(), [lower]);
  await scanner.sweep({ kind: 'sweep' }).done;
  t.strictSame(priorities(), [lower], 'once');
  t.equal(getPriority(), own, 'the thread that answers stays as it was');
});
