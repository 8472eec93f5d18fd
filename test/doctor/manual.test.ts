/** docs/doctor.md has what doctor can say, all of it. */

import { readFileSync } from 'node:fs';
import t from 'tap';
import { daemonFindings, doctorFindings } from '../../src/health/index.ts';

t.test('every code is in the manual once, with its severity, its meaning and how to fix it', async t => {
  const manual = readFileSync(new URL('../../docs/doctor.md', import.meta.url), 'utf8');
  const [, ofDoctor = '', ofDaemon = ''] = manual.split(/^## .*$/m);
  const row = /^\| `(\w+)` \| (wrong|notice) \| [^|\s][^|]* \| [^|\s][^|]* \|$/gm;
  for (const [part, findings] of [
    [ofDoctor, doctorFindings],
    [ofDaemon, daemonFindings],
  ] as const) {
    const rows = [...part.matchAll(row)].map(([, code, severity]) => [code, severity]);
    t.strictSame(rows, Object.entries(findings));
    t.equal(rows.length, part.match(/^\| `/gm)?.length, 'no other rows');
  }
});

t.test('no code means two things', async t => {
  t.strictSame(
    Object.keys(doctorFindings).filter(code => code in daemonFindings),
    [],
  );
});
