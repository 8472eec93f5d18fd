/** Findings about the installation. */

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { z } from 'zod';
import { finding } from '../../src/wire/index.ts';
import { measure, repository } from './people.ts';
import { World } from './world.ts';

t.test('what is wrong is told, the worst first, with the mend', async t => {
  const world = await World.open(t);
  repository(world, 'dave/app');
  await measure(world);
  rmSync(join(world.directory, 'git'), { recursive: true });
  await measure(world);
  const findings = z.array(finding).parse(await world.get('/admin/quota/findings'));
  const worst = findings[0]?.severity;
  t.equal(worst, 'wrong');
  t.match(findings[0]?.message, /git/);
  const order = findings.map(({ severity }) => ['wrong', 'notice'].indexOf(severity));
  t.strictSame(order, order.toSorted());
});
