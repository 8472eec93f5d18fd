/** Limits of groups, repositories, pushes and files: what they say, and whom they hold for. */

import t from 'tap';
import {
  decide,
  explain,
  type Group,
  type PooledBytes,
  passedLimits,
  type Rule,
  refusal,
  type Subject,
  usageOf,
  warning,
} from '../../src/quota/index.ts';
import { plainSettings, rule, standing } from './arbitraries.ts';

const MB = 1_000_000;
const GB = 1000 * MB;

interface Differing {
  readonly defaults?: readonly Group[];
  readonly subject?: Subject;
  readonly question?: Partial<Parameters<typeof decide>[0]>;
}

const own = usageOf({ 'size:repos:private': 3 * GB });

function question(
  assigned: readonly Group[],
  { defaults = [], subject = 'size:repos:private', ...more }: Differing,
) {
  return {
    settings: plainSettings,
    standing: standing(assigned, defaults),
    usage: own,
    subject,
    ...more.question,
  };
}

const ask = (assigned: readonly Group[], differing: Differing = {}) => decide(question(assigned, differing));

function said(assigned: readonly Group[], differing: Differing = {}): string | null {
  const decision = ask(assigned, differing);
  const subject = differing.subject ?? 'size:repos:private';
  return decision.allowed
    ? warning(plainSettings, 'alice', subject, decision)
    : refusal('alice', subject, decision);
}

const pool = (bytes: number): PooledBytes => ({
  usage: usageOf({ 'size:repos:private': bytes }),
  reserved: null,
  unreachable: null,
});
const lab = (...rules: readonly Rule[]): Group => ({ name: 'lab', rules });
const together = rule('together', 100 * GB, { per: 'group' });

t.test('the members of a group are limited together, whatever their other groups allow', async t => {
  const full = { question: { pools: () => pool(101 * GB) } };
  const generous: Group = { name: 'generous', rules: [rule('endless', -1)] };
  t.match(ask([lab(together), generous], full), {
    allowed: false,
    per: 'group',
    group: 'lab',
    rule: 'together',
    used: 101 * GB,
    share: 3 * GB,
    limit: 100 * GB,
  });
  t.equal(
    said([lab(together), generous], full),
    'The group lab has 101 GB of 100 GB, of which you have 3 GB.',
  );
  t.ok(
    ask([generous], { ...full, defaults: [lab(together)] }).allowed,
    'as a default group it bounds nobody',
  );
  t.equal(
    said([lab(together)], { question: { pools: () => pool(95 * GB) } }),
    'Quota warning: The group lab has 95 GB of 100 GB, of which you have 3 GB.',
  );
  t.equal(
    said([lab({ ...together, mode: 'warn' })], full),
    'Quota warning: The group lab has 101 GB of 100 GB, of which you have 3 GB; this limit refuses nothing.',
  );
});

t.test('a grace of a group is one for all its members, by a clock of its own', async t => {
  const graced = lab({ ...together, graceMs: 1000 });
  const begun = (since: number) => ({
    ...pool(101 * GB),
    graces: { now: 5000, begun: new Map([['together', { since, isReported: false }]]) },
  });
  t.match(ask([graced], { question: { pools: () => begun(4500) } }), {
    allowed: true,
    near: [{ per: 'group', grace: { until: 5500 } }],
  });
  t.match(ask([graced], { question: { pools: () => begun(3000) } }), {
    allowed: false,
    grace: { until: 4000 },
  });
  const { settings, standing } = question([graced], {});
  t.equal(passedLimits(settings, standing, usageOf({ 'size:git:lfs': 500 * GB }), null).size, 0);
});

t.test('a repository is limited by what is in it', async t => {
  const bound = lab(rule('each', 4 * GB, { per: 'repository' }));
  const repository = (bytes: number) => ({ ...pool(bytes), name: 'alice/app' });
  const holding = (bytes: number) => ({ question: { repository: repository(bytes) } });
  t.match(ask([bound], holding(5.2 * GB)), { allowed: false, per: 'repository', unit: 'alice/app' });
  t.equal(said([bound], holding(5.2 * GB)), 'Repository alice/app is too large: it has 5.2 GB of 4 GB.');
  t.equal(said([bound], holding(3.9 * GB)), 'Quota warning: Repository alice/app has 3.9 GB of 4 GB.');
  t.match(ask([bound]), { allowed: true, unasked: ['repository'] });
  const precise = { settings: { ...plainSettings, precise: true }, addingBytes: 300 * MB };
  t.equal(
    said([bound], { question: { repository: repository(3.9 * GB), ...precise } }),
    'Repository alice/app has 3.9 GB of 4 GB, and this push brings 300 MB.',
  );
  const lfs = lab(rule('lfs', GB, { per: 'repository', subjects: ['size:git:lfs'] }));
  const stored = {
    ...repository(0),
    usage: usageOf({ 'size:git:lfs': 2 * GB, 'size:repos:private': 9 * GB }),
  };
  t.equal(
    said([lfs], { subject: 'size:git:lfs', question: { repository: stored } }),
    'Repository alice/app is too large: its LFS objects have 2 GB of 1 GB.',
  );
});

t.test('a push and a file are limited by what comes', async t => {
  const bounds = lab(rule('push', 2 * GB, { per: 'push' }), rule('file', 100 * MB, { per: 'file' }));
  const comes = (bytes: number | null, largest: number | null, more = {}) => ({
    question: { incoming: { bytes, largest: largest === null ? null : { bytes: largest, ...more } } },
  });
  t.equal(said([bounds], comes(2.4 * GB, null)), 'This push brings 2.4 GB; a push may bring 2 GB.');
  t.equal(
    said([bounds], { ...comes(2.4 * GB, null), subject: 'size:git:lfs' }),
    'This upload brings 2.4 GB; an upload may bring 2 GB.',
  );
  t.equal(
    said([bounds], comes(null, 140 * MB, { name: 'assets/video.bin' })),
    'assets/video.bin has 140 MB; a file may have 100 MB.',
  );
  t.equal(
    said([bounds], comes(null, 140 * MB, { object: 'f00d' })),
    'The file with the object id f00d has 140 MB; a file may have 100 MB.',
  );
  t.ok(ask([bounds], comes(2 * GB, 100 * MB)).allowed, 'as much as the limit may come');
  const reached = { ...plainSettings, refuseWhen: 'reached', precise: true } as const;
  t.ok(
    decide({ ...question([bounds], comes(2 * GB, 100 * MB)), settings: reached }).allowed,
    'also with REFUSE_WHEN = reached',
  );
  t.match(ask([bounds]), { allowed: true, unasked: ['push', 'file'] });
});

t.test('an explanation has every bound that holds, with what could not be asked', async t => {
  const bounds = lab(together, rule('each', GB, { per: 'repository' }), rule('file', MB, { per: 'file' }));
  const explanation = explain(
    question([bounds], {
      defaults: [{ name: 'all', rules: [rule('push', GB, { per: 'push' }), rule('f', 5, { per: 'file' })] }],
      question: { pools: () => pool(101 * GB), incoming: { bytes: null, largest: { bytes: 5 } } },
    }),
  );
  t.match(explanation.bounds, [
    { per: 'group', rule: 'together', verdict: 'refuses', decided: true, share: 3 * GB },
    { per: 'repository', rule: 'each', verdict: 'not_asked', used: null, headroom: null },
    { per: 'push', step: 'defaults', verdict: 'not_asked' },
    { per: 'file', step: 'assigned', rule: 'file', used: 5, verdict: 'allows', decided: false },
  ]);
  t.equal(explanation.steps.at(-1)?.step, 'builtin', 'the groups allowed');
  t.equal(explain(question([lab(rule('total', GB))], {})).bounds, undefined);
});
