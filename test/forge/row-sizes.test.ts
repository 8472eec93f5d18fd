/** The sizes of rows that are remembered for the time when one of them is odd. */

import t from 'tap';
import { RowJudge } from '../../src/forge/odd-rows.ts';

const about = () => ({ owner: null, path: null });

t.test('five million rows of a table are remembered, and none of them is in the heap', t => {
  const judge = new RowJudge();
  judge.begin('artifacts');
  const before = process.memoryUsage().heapUsed;
  const first = judge.sizes('ci_job_artifacts');
  const rows = 5_000_001;
  for (let id = 1; id <= rows; id++) first.judged(3 * id, 1000 + id, about);
  t.ok(process.memoryUsage().heapUsed - before < 32e6, 'also while they are read');
  const began = process.cpuUsage();
  first.end();
  t.ok(process.cpuUsage(began).user < 500_000, 'those that ascend are not sorted');

  const second = judge.sizes('ci_job_artifacts');
  t.equal(second.judged(3, -1, about), 1001);
  t.equal(second.judged(3 * 5_000_000, -1, about), 5_001_000);
  t.equal(second.judged(3 * rows, -1, about), null, 'the last one is not remembered');
  t.equal(second.judged(4, -1, about), null, 'nor is one that was not there');
  t.end();
});

t.test('rows whose ids come in any order are remembered as well', t => {
  const judge = new RowJudge();
  judge.begin('lfs');
  const first = judge.sizes('lfs_object');
  for (const id of [70, 10, 40]) first.judged(id, id + 1, about);
  first.end();
  const second = judge.sizes('lfs_object');
  for (const id of [10, 40, 70]) t.equal(second.judged(id, null, about), 0, 'an absent size is 0');
  for (const id of [10, 40, 70]) t.equal(second.judged(id, 'odd', about), id + 1);
  t.end();
});
