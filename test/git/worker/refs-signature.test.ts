import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { refsSignature } from '../../../src/git/worker/refs-signature.ts';
import { Repository } from './space/world.ts';

t.test('a change of a branch is seen, whatever letters are in the names of the folders above', async t => {
  const repository = await Repository.open(t);
  await repository.commit({ a: 10 });
  await repository.push('main', 'main:refs/heads/grün/one');
  const before = await refsSignature(repository.path);
  t.type(before, 'object');
  t.equal((await refsSignature(repository.path))?.text, before?.text);
  await writeFile(join(repository.path, 'refs/heads/grün/two'), '');
  t.not((await refsSignature(repository.path))?.text, before?.text);
  t.equal(await refsSignature(join(repository.path, 'hooks')), null, 'there are no refs');
});
