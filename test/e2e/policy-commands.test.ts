/** `softquota rule` and `group`: what they do, print, and exit with. */

import t from 'tap';
import { addressOf } from './accounts.ts';
import { openCommandServer } from './command-server.ts';

t.setTimeout(600_000);

const { server, done, json, refused } = await openCommandServer(t);

t.test('rules have a grace and a mode, which commands set, show, compare and take away', async t => {
  const { server, done, refused } = await openCommandServer(t, { ini: { quota: { GRACE: '7d' } } });
  await server.reports('alice', 1050);
  t.equal(
    await done('rule create total --limit 1k --subject size:all --grace 14d'),
    'Created rule total: at most 1 kB of size:all, grace 2w.\n',
  );
  t.equal(
    await done('rule edit total --grace default --grace-most 20%'),
    'Rule total is now: at most 1 kB of size:all, grace up to 20 % over.\n',
  );
  t.equal(await done('group create free --rule total'), 'Created group free with total.\n');
  await done('group add-user free alice');
  t.match(await done('rule list'), /total {2}1 kB, grace up to 20 % over/);
  t.match(
    await done('check alice --subject size:git:lfs'),
    /^allowed\. .* Refusals begin on .*, or at 1\.2 kB\.$/m,
  );
  t.match(await done('usage'), /over the limit, in its grace/);
  t.match(await done('usage --state grace'), /alice/);
  t.match(await done('usage alice'), /Refusals begin on .*, or at 1\.2 kB\./);
  t.match(
    await done('explain alice --subject size:git:lfs'),
    /Refusals begin on .*, or at 1\.2 kB\.\n[\s\S]*\* rule total: .*: lets it through by a grace/,
  );
  const exported = await done('policy export');
  const policy = JSON.parse(exported);
  t.match(policy.rules, [{ name: 'total', grace_most: '20 %' }]);
  const other = await server.file('other.json', {
    rules: [{ ...policy.rules[0], grace: '3d', mode: 'report' }],
    groups: policy.groups,
  });
  const shown = await done('policy import', other);
  t.match(shown, /^~ rule total: at most 1 kB of size:all, grace 3d up to 20 % over, only reported \(was/m);
  const back = await server.file('back.json', exported);
  t.match(await done('policy import', back), /^~ rule total: .*only reported\)$/m);
  t.equal(await done('policy export'), exported);
  const tighter = await server.file('tighter.json', { settings: { default_groups: ['free'] } });
  await server.reports('bob', 1100);
  t.match(
    await done('policy simulate', tighter),
    /1 would be newly over a limit, within its grace\.\n\nNEWLY IN GRACE/,
  );
  t.match(await done('rule edit total --warn-at none'), /never warned/);
  t.match(await done('rule edit total --warn-at default'), /20 % over\.$/m);
  await refused(2, /--warn-at 0: .*; write whole percentages from 1/, 'rule edit total --warn-at 0');
  await refused(2, /--grace soon: not a duration; write a whole number/, 'rule edit total --grace soon');
  await refused(2, /--grace-most much: not a size; write a percentage/, 'rule edit total --grace-most much');
  await refused(2, /--mode off: write enforce, report or warn/, 'rule edit total --mode off');
  const held = await server.file('held.json', {
    ...policy,
    groups: [{ ...policy.groups[0], mode: 'report' }],
  });
  const advice = /held\.json: groups\.0\.mode: groups have no mode any more: leave it out, and set "mode"/;
  for (const verb of ['import', 'simulate', 'lint']) await refused(2, advice, 'policy', verb, held);

  await done('rule edit total --limit 10k');
  t.equal(
    await done('rule create soft --limit 100 --subject size:all --mode warn'),
    'Created rule soft: at most 100 B of size:all, only warned of.\n',
  );
  await done('group add-rule free soft');
  t.match(
    await done('check alice --subject size:git:lfs'),
    /^allowed\. .* Quota warning: alice uses 1\.05 kB of 100 B \(1,050 %\); this limit refuses nothing\.$/m,
  );
  t.match(
    await done('usage alice'),
    /near the limit\.\nOver the limit of rule soft, which only warns: 1\.05 kB of 100 B \(1,050 %\)\./,
  );
  t.match(
    await done('explain alice --subject size:git:lfs'),
    /: allowed\. [\s\S]*With the rules that only warn: refused\.\n[\s\S]*\* rule soft: .*: refuses, only warned of/,
  );
});

t.test('every command of rules and groups prints tables for people and JSON for programs', async t => {
  t.match(await done('rule list'), /^No rules: .* softquota rule create\.\n$/);
  t.match(await done('group list'), /^No groups\. Create one with softquota group create\.\n$/);
  t.strictSame(await json('rule create total --limit', '10 GB', '--subject', 'size:all'), {
    name: 'total',
    limit: 10_000_000_000,
    subjects: ['size:all'],
    per: 'owner',
  });
  await done('rule create media --limit -1 --subject', 'size:git:lfs, none', '--subject', 'size:assets:all');
  await done('rule create odd --limit 1234567890 --subject size:assets:wiki');
  await done('user create alice');
  await done('user create acme --type organization');
  t.match(
    await done('group create empty'),
    /^Created group empty without rules; add one with softquota group add-rule/,
  );
  t.strictSame(await json('group create free --rule total --rule media'), {
    name: 'free',
    rules: [
      { name: 'total', limit: 10_000_000_000, subjects: ['size:all'], per: 'owner' },
      { name: 'media', limit: -1, subjects: ['size:git:lfs', 'none', 'size:assets:all'], per: 'owner' },
    ],
  });
  await done('group add-user free acme');
  t.equal(await done('group add-user free alice'), 'Added alice to group free.\n');
  t.equal(await done('group add-rule empty odd'), 'Added rule odd to group empty.\n');

  t.equal(
    await done('rule list'),
    'RULE                    LIMIT  OF                                   IN GROUPS\n' +
      'total                   10 GB  size:all                             free\n' +
      'media               unlimited  size:git:lfs, none, size:assets:all  free\n' +
      'odd    1.23 GB (1234567890 B)  size:assets:wiki                     empty\n',
  );
  t.equal(
    await done('group list'),
    'GROUP  USERS  RULES\n' +
      'empty      0  odd (1.23 GB (1234567890 B))\n' +
      'free       2  total (10 GB), media (unlimited)\n',
  );
  t.equal(
    await done('group show free'),
    'free has:\n  total: at most 10 GB of size:all\n' +
      '  media: any amount of size:git:lfs, none, size:assets:all\nMembers: acme, alice\n',
  );
  t.equal(
    await done('rule show media'),
    'media: any amount of size:git:lfs, none, size:assets:all.\nGroups with this rule: free.\n',
  );
  t.match(await json('group show free'), { name: 'free', users: ['acme', 'alice'] });
  t.match(await json('rule show odd'), { limit: 1_234_567_890, groups: ['empty'] });
  t.equal((await json('rule list')).length, 3);
  t.equal((await json('group list')).length, 2);
  const edited = await json('rule edit odd --subject size:all');
  t.match(edited, { limit: 1_234_567_890, subjects: ['size:all'] });
  t.equal(await done('rule edit odd --limit 1.5MiB'), 'Rule odd is now: at most 1.5 MiB of size:all.\n');
  t.match(await server.softquota('check acme --subject size:all'), { code: 0, stdout: /of 10 GB/ });
  t.equal(await done('group remove-user free acme'), 'Removed acme from group free.\n');

  t.equal(await done('group remove-rule empty odd'), 'Removed rule odd from group empty.\n');
  t.match(await done('group show empty'), /^empty has no rules, .*\nMembers: none\n$/);
  t.match(await done('rule show odd'), /\nNo group has this rule, so it limits nobody\.\n$/);
  t.equal(await done('rule delete odd'), 'Deleted rule odd.\n');
  t.equal(await done('group delete free'), 'Deleted group free.\n');
  t.strictSame(await json('rule list').then(rules => rules.length), 2, 'the rules of a group remain');
  t.match(await server.softquota('user show alice --json'), { stdout: /"groups": \[\]/ });
});

t.test('names go to the daemon as they are, and to a terminal harmless', async t => {
  const name = 'a/b %2F\u202e ?#é';
  await done('rule create', name, '--limit', '1k', '--subject', 'size:all');
  await done('group create --rule', name, '--', '-g/\u200b');
  t.match(await json('rule show', name), { name, groups: ['-g/\u200b'] });
  t.notMatch(await done('rule list'), /[\u200b\u202e]/);
  t.notMatch(await done('group list'), /[\u200b\u202e]/);
  const shown = await done('group show --', '-g/\u200b');
  t.match(shown, 'a/b %2F\\u{202e} ?#é');
  const exported = await done('policy export');
  t.notMatch(exported, /[\u200b\u202e]/);
  const policy: Readonly<Record<string, readonly { name: string }[]>> = JSON.parse(exported);
  t.ok(policy.rules?.some(rule => rule.name === name));
  t.ok(policy.groups?.some(group => group.name === '-g/\u200b'));
  await done('group remove-rule --', '-g/\u200b', name);
  await done('group delete --', '-g/\u200b');
  await done('rule delete', name);
});

t.test('explain shows the limits of groups, repositories, pushes and files', async t => {
  await done('rule create together --limit 1k --per group --subject size:all');
  await done('rule create each --limit 2k --per repository --subject size:all');
  await done('group create lab --rule together --rule each');
  for (const name of ['alice', 'bob']) {
    await done(`user create ${name}`);
    await done(`group add-user lab ${name}`);
  }
  await server.reports('alice', 300);
  await server.reports('bob', 900);
  const shown = await done('explain alice --subject size:git:lfs');
  t.match(shown, /^alice, .*: refused\./);
  t.ok(
    shown.endsWith(`Limits that are asked after these have allowed:
  * all members together, group lab, rule together: 1.2 kB of 1 kB, 300 B by this owner (size:all): refuses
    each repository, group lab, rule each: 2 kB (size:all): is not asked, since nobody knows what it is about
`),
    shown,
  );
  const two = /--subject size:git:lfs,size:repos:all: expected one subject/;
  await refused(2, two, 'explain alice --subject size:git:lfs,size:repos:all');
});

t.test('what cannot be done is told with the exit status for it', async t => {
  await done('rule create total --limit 10G --subject size:all');
  await done('group create free --rule total');
  const notASize = /--limit 10 gigs: not a size; write a number and a unit, such as 500M/;
  await refused(2, notASize, 'rule create x --subject size:all --limit', '10 gigs');
  await refused(2, /--limit -2: below 0; only -1/, 'rule create x --limit -2 --subject size:all');
  const lsf = /--subject size:git:lsf: .* did you mean size:git:lfs\?/;
  await refused(2, lsf, 'rule create x --limit 1 --subject size:git:lsf');
  const bytes = /--subject bytes: .* expected one of size:all, .*none/;
  await refused(2, bytes, 'rule create x --limit 1 --subject bytes');
  await refused(2, /required option '--subject/, 'rule create x --limit 1');
  await refused(2, /name: .*directory/, 'rule create . --limit 1 --subject size:all');
  await refused(2, /nothing to change: give --limit/, 'rule edit total');
  await refused(1, /there is no rule gone/, 'rule edit gone --limit 1');
  await refused(0, /the rule total is in the group free already/, 'group add-rule free total');
  await done('user create bob');
  const SOFTQUOTA_TOKEN = (await done('token create --user bob')).trim();
  const env = { SOFTQUOTA_URL: await addressOf(server), SOFTQUOTA_TOKEN };
  const stranger = await server.softquota('rule delete total', { env });
  t.match(stranger, { code: 77, stderr: /only administrators may do this/ });
});
