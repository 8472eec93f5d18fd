/**
 * Predictions of freed bytes are true within five percent: in made repositories, and in the sources of
 * packages as their releases.
 */

import { cp, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { numbersFrom } from '../../../numbers.ts';
import { isLong } from '../../../run-length.ts';
import { predictions, wrongOnes } from './predictions.ts';
import { Repository } from './world.ts';

t.setTimeout(3_600_000);

const root = fileURLToPath(new URL('../../../../', import.meta.url));

type Open = (t: Test) => Promise<Repository>;

/** Files that grow, move, are copied and deleted on several branches and tags. */
async function made(t: Test, seed: number): Promise<Repository> {
  const repository = await Repository.open(t);
  const upTo = numbersFrom(seed);
  await repository.commit({ readme: 900, 'src/main': 4000 });
  for (let step = 0; step < 20; step++) {
    const name = `data/f${upTo(5)}`;
    const kind = upTo(6);
    const isThere = await stat(join(repository.clone, name)).then(
      () => true,
      () => false,
    );
    if (kind === 0 && isThere) await repository.git('mv', name, `data/moved${step}`);
    if (kind === 1 && isThere) await cp(join(repository.clone, name), join(repository.clone, `copy${step}`));
    if (kind === 2 && isThere) await repository.git('rm', '-q', name);
    if (kind === 3) await repository.git('checkout', '-q', '-b', `b${step}`);
    if (kind === 4) await repository.git('tag', `v${step}`);
    await repository.commit({ [name]: 2000 + upTo(200_000), note: 20 });
  }
  await repository.push('refs/heads/*:refs/heads/*', 'refs/tags/*:refs/tags/*');
  // The branch is pushed and deleted again.
  await repository.commit({ 'data/deleted': 100_000 });
  await repository.push('HEAD:refs/heads/deleted');
  await repository.push(':refs/heads/deleted');
  return repository;
}

/** The folders of a package as one release after the other, each on top of the one before. */
async function imported(t: Test, name: string): Promise<Repository> {
  const repository = await Repository.open(t);
  const source = join(root, 'node_modules', name);
  for (const entry of await readdir(source)) {
    await cp(join(source, entry), join(repository.clone, entry), {
      recursive: true,
      filter: path => !path.includes('/.git'),
    });
    await repository.commit({ version: 30 });
  }
  await repository.git('branch', 'before', 'HEAD~1');
  await repository.git('mv', 'package.json', 'moved.json');
  await repository.commit({ version: 30, 'build/out.bin': 50_000 });
  await repository.push('refs/heads/*:refs/heads/*');
  return repository;
}

const packages = isLong ? ['commander', 'zod', 'express', 'typescript'] : ['commander'];

const cases: readonly (readonly [string, Open])[] = [
  ...Array.from(
    { length: isLong ? 20 : 2 },
    (_, seed) => [`made ${seed}`, (t: Test) => made(t, seed)] as const,
  ),
  ...packages.map(name => [name, (t: Test) => imported(t, name)] as const),
];

for (const [name, open] of cases) {
  t.test(name, async t => {
    const found = await predictions(await open(t), 0.01);
    t.ok(found.length > 0, `${found.length} pieces of advice`);
    t.same(wrongOnes(found), []);
  });
}
