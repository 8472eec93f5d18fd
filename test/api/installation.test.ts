/** Findings about the installation, and its backup. */

import { createHash } from 'node:crypto';
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

t.test('a backup has the hashes of tokens, never a token, and takes the right to write', async t => {
  const world = await World.open(t);
  const token = await world.newToken('admin1', ['write:admin']);
  const { text, json } = await world.must(200, 'GET', '/admin/backup', { token });
  t.match(json, { softquota: 'backup' });
  t.notOk(text.includes(token));
  t.ok(text.includes(createHash('sha256').update(token).digest('hex')));
  const reader = await world.newToken('admin1', ['read:admin']);
  await world.must(403, 'GET', '/admin/backup', { token: reader });
  await world.must(403, 'GET', '/admin/backup', { as: 'alice' });
  await world.get('/admin/backup', { as: 'host' });
});
