/** docs/doctor.md has what doctor can say, all of it. */

import { readFileSync } from 'node:fs';
import t from 'tap';
import { daemonFindings, doctorFindings } from '../../src/health/index.ts';

t.test('every code is in the manual once, with its severity, its meaning and its mend', async t => {
  const manual = readFileSync(new URL('../../docs/doctor.md', import.meta.url), 'utf8');
  for (const [code, entry] of Object.entries({ ...doctorFindings, ...daemonFindings })) {
    const rows = manual.split('\n').filter(line => line.startsWith(`| \`${code}\` |`));
    t.strictSame(rows, [`| \`${code}\` | ${entry.severity} | ${entry.meaning} | ${entry.mend} |`]);
  }
});

t.test('no code means two things', async t => {
  t.strictSame(
    Object.keys(doctorFindings).filter(code => code in daemonFindings),
    [],
  );
});
