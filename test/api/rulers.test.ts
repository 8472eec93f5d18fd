/** Units whose size the file system keeps are told apart from those that are walked. */

import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { z } from 'zod';
import { explanation, finding, ownerReport, type ScanReport, scanReport } from '../../src/wire/index.ts';
import { measure } from './people.ts';
import { World } from './world.ts';

t.test('reports, explanations, scans and doctor say which figures are sums of the file system', async t => {
  const world = await World.open(t, {
    settings: { 'storage.lfs': { PATH: 'lfs/{owner}', RULER: 'xattr:user.rbytes' } },
  });
  const store = join(world.directory, 'lfs/alice');
  mkdirSync(store, { recursive: true });
  writeFileSync(join(store, 'file'), 'seven b');
  execFileSync('setfattr', ['-n', 'user.rbytes', '-v', '4096', store]);
  await world.report('alice', 'size:assets:artifacts', 5);
  const scanned = await scan(world);
  t.match(scanned, { state: 'done', faults: { count: 0 } });

  const { json } = await world.must(200, 'GET', '/admin/quota/usage/alice');
  const { units } = ownerReport.parse(json);
  t.match(
    units.map(({ subject, bytes, files, ruler }) => ({ subject, bytes, files, ruler })),
    [
      { subject: 'size:git:lfs', bytes: 4096, files: null, ruler: 'xattr:user.rbytes' },
      { subject: 'size:assets:artifacts', bytes: 5, ruler: null },
    ],
  );
  const rulers = [{ subject: 'size:git:lfs', ruler: 'xattr:user.rbytes' }];
  for (const [path, as] of [
    ['/admin/quota/explain?user=alice&subject=size:all', 'admin1'],
    ['/user/quota/explain?subject=size:all', 'alice'],
  ] as const) {
    t.same(explanation.parse((await world.must(200, 'GET', path, { as })).json).rulers, rulers);
  }
  t.same(
    (await findings(world)).filter(({ code }) => code === 'ruler_fails'),
    [],
  );

  execFileSync('setfattr', ['-n', 'user.rbytes', '-v', 'much', store]);
  t.match(await scan(world), {
    state: 'done',
    faults: { count: 1, first: [{ path: store, why: 'user.rbytes: "much" is not a number of bytes' }] },
  });
  const after = ownerReport.parse((await world.must(200, 'GET', '/admin/quota/usage/alice')).json);
  t.match(after, { total: 4101, partial: true, units: [{ bytes: 4096, partial: true }, {}] });
  t.match(
    (await findings(world)).find(({ code }) => code === 'ruler_fails'),
    { severity: 'wrong', message: /"much" is not a number of bytes; its last known bytes count$/ },
  );

  world.reload({ 'storage.lfs': { RULER: 'walk' } });
  await scan(world);
  const walked = ownerReport.parse((await world.must(200, 'GET', '/admin/quota/usage/alice')).json);
  t.match(
    walked.units.find(({ subject }) => subject === 'size:git:lfs'),
    { bytes: 7, files: 1, ruler: null },
  );
});

/** The scan after it has ended. */
async function scan(world: World): Promise<ScanReport> {
  await measure(world);
  const { json } = await world.must(200, 'GET', '/admin/quota/scans');
  const [last] = z.array(scanReport).parse(json);
  if (last === undefined) throw new Error('there is no scan');
  return last;
}

async function findings(world: World) {
  return z.array(finding).parse((await world.must(200, 'GET', '/admin/quota/findings')).json);
}
