/** Long documents in parts. */

import fc from 'fast-check';
import t from 'tap';
import { joined, partsOf } from '../../src/api/body.ts';
import { runToEnd } from '../../src/turns.ts';

t.test('a document is put together as it was, from parts of which none is long', async t => {
  const name = fc.string({ minLength: 200, maxLength: 400 });
  const names = fc.array(name, { maxLength: 700, size: 'max' });
  const group = fc.record({ name, users: names, rules: fc.array(fc.record({ name, limit: fc.nat() })) });
  let divided = 0;
  fc.assert(
    fc.property(fc.record({ groups: fc.array(group, { maxLength: 8 }), rules: names }), generated => {
      const whole = structuredClone(generated);
      const parts = partsOf(whole);
      if (parts.length > 2) divided += 1;
      t.strictSame(runToEnd(joined(parts)), whole);
      t.ok(parts.every(({ text }) => text.length < 150_000));
    }),
    { numRuns: 30 },
  );
  t.ok(divided > 5, `${divided} were divided`);
});
