/** Values that a request for more is filled in with. */

import t from 'tap';
import { proposal } from '../../web/src/own/proposal.ts';

const now = Date.parse('2026-11-23T12:00:00Z');
const verdict = { allowed: true, used: 5e9, limit: 10e9, group: null, rule: null };
const growth = { per_day: 1e8, since: '2026-11-01T00:00:00Z', used: 5e9, limit: 10e9, reached_at: null };
const figures = (used: number, limit: number) => ({
  auto_grant: null,
  decisions: {
    'size:all': { ...verdict, used, limit },
    'size:git:lfs': { ...verdict, used: 1, limit: 100e9 },
  },
});

t.test('it is what is over the limit, and what comes in thirty days at the present growth', async t => {
  t.match(proposal(figures(12.4e9, 10e9), growth, now), {
    size: '5.4 GB',
    lastDay: /^2026-12-2[234]$/,
    why: /^12\.4 GB of 10 GB are used \(124 %\)\. At the present growth of 700 MB a week/,
  });
  t.match(proposal(figures(12.4e9, 10e9), { ...growth, per_day: -1e8 }, now), { size: '2.4 GB' });
});

t.test('it is a tenth of the limit where neither calls for more, and nothing without a limit', async t => {
  t.match(proposal(figures(1e9, 10e9), null, now), { size: '1 GB', why: '1 GB of 10 GB are used (10 %).' });
  const unlimited = { auto_grant: null, decisions: { 'size:all': { ...verdict, limit: -1 } } };
  t.match(proposal(unlimited, null, now), { size: '', why: '' });
});

t.test('it lasts no longer than what is granted at once', async t => {
  const autoGrant = { bytes: 1, seconds: 7 * 86_400, every_seconds: 1 };
  const filled = proposal({ ...figures(1e9, 10e9), auto_grant: autoGrant }, null, now);
  t.match(filled.lastDay, /^2026-11-(29|30)$|^2026-12-01$/);
});
