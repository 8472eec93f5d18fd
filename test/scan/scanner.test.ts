import { join } from 'node:path';
import t from 'tap';
import { bareRepository, fill, independentCount, scanning, storage, temporary } from './world.ts';

t.test('a sweep measures every unit to the byte', async t => {
  const root = temporary(t);
  for (let owner = 0; owner < 10; owner++) {
    for (let repository = 0; repository < 20; repository++) {
      bareRepository(join(root, `o${owner}`, `r${repository}.git`), 100 * owner + repository);
    }
  }
  fill(join(root, 'o1/r1.git/lfs/ab/cd/abcd'), 12345);
  const { scanner, book } = scanning(t, [
    storage('repos', `${root}/{owner}/{repo}.git`),
    storage('lfs', `${root}/{owner}/{repo}.git/lfs`),
  ]);
  const run = scanner.sweep({ kind: 'sweep' });
  await run.done;
  t.equal(run.state, 'done', run.error ?? '');
  t.equal(book.units.size, 201);
  t.equal(book.bytes(join(root, 'o1/r1.git/lfs')), 12345);
  let bytes = 0;
  let files = 0;
  for (const unit of book.units.values()) {
    bytes += unit.bytes;
    files += unit.files;
  }
  t.same({ bytes, files }, independentCount(root));
  const progress = run.progress();
  t.match(progress, { units: 201, unitsFound: 201, discovering: false, files, bytes, estimateSeconds: 0 });
});
