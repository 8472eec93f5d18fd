/** Bytes that are reserved count as used. */

import t from 'tap';
import {
  type Decision,
  decide,
  type Group,
  leafMask,
  noUsage,
  type QuotaSettings,
  type ReservedBytes,
  type RuleSubject,
  refusal,
  type Subject,
  usageOf,
  warning,
} from '../../src/quota/index.ts';
import { plainSettings, standing } from './arbitraries.ts';

const GB = 1_000_000_000;
const lfs = (bytes: number) => usageOf({ 'size:git:lfs': bytes });
const reservedFor = (named: Subject, bytes: number) => [{ mask: leafMask(named), bytes }];

interface Asked extends Partial<QuotaSettings> {
  readonly used?: number;
  readonly reserved?: readonly ReservedBytes[];
  readonly adding?: number;
  readonly groups?: readonly Group[];
  readonly subject?: Subject;
}

function ask(about: Asked): Decision {
  const { used = 0, reserved, adding, groups = [], subject: what = 'size:git:lfs', ...changed } = about;
  const settings = { ...plainSettings, totalBytes: 10 * GB, ...changed };
  return decide({
    settings,
    standing: standing(groups, []),
    usage: lfs(used),
    subject: what,
    addingBytes: adding,
    reserved,
  });
}

function words(about: Asked): string {
  const decision = ask(about);
  return decision.allowed ? 'allowed' : refusal('alice', about.subject ?? 'size:git:lfs', decision);
}

t.test('what is reserved counts as used, with PRECISE and without', async t => {
  const reserved = reservedFor('size:git:lfs', 2 * GB);
  t.match(ask({ used: 8 * GB, reserved }), { allowed: true, used: 10 * GB, reserved: 2 * GB });
  t.match(ask({ used: 8 * GB + 1, reserved }), { allowed: false, used: 10 * GB + 1 });
  t.match(ask({ used: 8 * GB, reserved, precise: true, adding: 1 }), { allowed: false, incoming: 1 });
  t.equal(
    words({ used: 7 * GB, reserved, precise: true, adding: 2 * GB, subject: 'size:repos:private' }),
    'Not enough quota left: alice uses 9 GB of 10 GB (90 %), 2 GB of that reserved, and this push brings 2 GB.',
  );
  t.match(
    warning(plainSettings, 'alice', 'size:all', ask({ used: 7 * GB, reserved })),
    /alice uses 9 GB of 10 GB/,
  );
});

t.test('bytes under a subject with several kinds below it count wherever they may come', async t => {
  const rule = (name: string, ...subjects: RuleSubject[]) => ({ name, limitBytes: 10, subjects });
  const groups = [
    { name: 'g', rules: [rule('lfs', 'size:git:lfs'), rule('packages', 'size:assets:packages:all')] },
  ];
  const used = (what: Subject) =>
    decide({
      settings: plainSettings,
      standing: standing(groups, []),
      usage: noUsage,
      subject: what,
      reserved: reservedFor('size:git:all', 7),
    }).used;
  t.equal(used('size:git:lfs'), 7);
  t.equal(used('size:assets:packages:all'), 0);
});
