/** The log says once that something is away, and since when it was. */

import t from 'tap';
import { AwayState } from '../../src/store/index.ts';

t.test('what is away is logged when that begins, has another reason, or ends', async t => {
  const lines: string[] = [];
  let time = Date.UTC(2026, 0, 1);
  const away = new AwayState({
    log: {
      warn: (_, message) => lines.push(message),
      info: (fields, message) => lines.push(`${message} ${JSON.stringify(fields)}`),
    },
    now: () => time,
    awayWords: 'it is away',
    backWords: 'it is back',
  });
  t.equal(away.succeeded(), false);
  t.equal(away.current, null);
  for (const reason of ['no route', 'no route', 'refused']) {
    away.failed(new Error(reason));
    time += 1000;
  }
  t.strictSame(away.current, { since: Date.UTC(2026, 0, 1), reason: 'refused' }, 'since it began');
  t.equal(away.succeeded(), true);
  t.equal(away.current, null);
  t.strictSame(lines, [
    'it is away: no route',
    'it is away: refused',
    'it is back {"awaySince":"2026-01-01T00:00:00.000Z"}',
  ]);
});
