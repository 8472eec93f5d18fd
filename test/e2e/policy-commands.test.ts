/** `softquota rule`, `group` and `policy`: what they do, print, and exit with. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import t, { type Test } from 'tap';
import { Clone } from './clone.ts';
import { launcher } from './daemon.ts';
import { must, plainEnvironment, run } from './run.ts';
import { Server, type ServerOptions } from './server.ts';

t.setTimeout(600_000);

/** A server with its commands. */
async function open(t: Test, options: ServerOptions = {}) {
  const server = await Server.open(t, options);
  const done = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await server.softquota(args);
    if (code !== 0) throw new Error(`${args.join(' ')}: exit ${code}\n${stdout}${stderr}`);
    return stdout;
  };
  const json = async (...args: readonly string[]) => JSON.parse(await done(...args, '--json'));
  const refused = async (code: number, said: RegExp, ...args: readonly string[]) => {
    t.match(await server.softquota(args), { code, stderr: said }, args.join(' '));
  };
  const file = async (name: string, content: unknown): Promise<string> => {
    const path = join(server.folder, name);
    await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
    return path;
  };
  /** Bytes of an owner's LFS store, as a trusted program reports them. */
  const stores = async (owner: string, bytes: number): Promise<void> => {
    const body = { owner, subject: 'size:git:lfs', unit: 'lfs', bytes };
    t.equal((await server.ask('trusted', '/v1/units', { body })).status, 200);
  };
  return { server, done, json, refused, file, stores };
}

t.test('rules have a grace and a mode, which commands set, show, compare and take away', async t => {
  const { done, json, refused, file, stores } = await open(t, { ini: { quota: { GRACE: '7d' } } });
  await stores('alice', 1050);
  t.equal(
    await done('rule', 'create', 'total', '--limit', '1k', '--subject', 'size:all', '--grace', '14d'),
    'Created rule total: at most 1 kB of size:all, grace 2w.\n',
  );
  t.equal(
    await done('rule', 'edit', 'total', '--grace', 'default', '--grace-most', '20%'),
    'Rule total is now: at most 1 kB of size:all, grace up to 20 % over.\n',
  );
  t.equal(
    await done('group', 'create', 'free', '--rule', 'total', '--mode', 'report'),
    'Created group free with total. It only reports.\n',
  );
  await done('group', 'add-user', 'free', 'alice');
  t.match(await done('group', 'list'), /free \(only reported\)/);
  t.match(await done('group', 'show', 'free'), /It is in report mode/);
  t.match(await done('rule', 'list'), /total {2}1 kB, grace up to 20 % over/);
  t.equal(await done('group', 'edit', 'free', '--mode', 'enforce'), 'Group free is in force now.\n');
  t.match(
    await done('check', 'alice', '--subject', 'size:git:lfs'),
    /^allowed\. .* Refusals begin on .*, or at 1\.2 kB\.$/m,
  );
  t.match(await done('usage'), /over the limit, in its grace/);
  t.match(await done('usage', '--state', 'grace'), /alice/);
  t.match(await done('usage', 'alice'), /Refusals begin on .*, or at 1\.2 kB\./);
  t.match(
    await done('explain', 'alice', '--subject', 'size:git:lfs'),
    /Refusals begin on .*, or at 1\.2 kB\.\n[\s\S]*\* rule total: .*: lets it through by a grace/,
  );
  const exported = await done('policy', 'export');
  const policy = JSON.parse(exported);
  t.match(policy.rules, [{ name: 'total', grace_most: '20 %' }]);
  const other = await file('other.json', {
    rules: [{ ...policy.rules[0], grace: '3d', mode: 'report' }],
    groups: [{ ...policy.groups[0], mode: 'report' }],
  });
  const shown = await done('policy', 'import', other);
  t.match(shown, /^~ rule total: at most 1 kB of size:all, grace 3d up to 20 % over, only reported \(was/m);
  t.match(shown, /^~ group free: only reported$/m);
  t.match(await json('policy', 'import', other), { difference: null });
  const back = await file('back.json', exported);
  t.match(await done('policy', 'import', back), /^~ group free: in force$/m);
  t.equal(await done('policy', 'export'), exported);
  const tighter = await file('tighter.json', { settings: { default_groups: ['free'] } });
  await stores('bob', 1100);
  t.match(
    await done('policy', 'simulate', tighter),
    /1 would be newly over a limit, within its grace\.\n\nNEWLY IN GRACE/,
  );
  await refused(
    2,
    /--grace soon: not a duration; write a whole number/,
    'rule',
    'edit',
    'total',
    '--grace',
    'soon',
  );
  await refused(
    2,
    /--grace-most much: not a size; write a percentage/,
    'rule',
    'edit',
    'total',
    '--grace-most',
    'much',
  );
  await refused(2, /--mode off: write enforce or report/, 'group', 'edit', 'free', '--mode', 'off');
  await refused(1, /there is no group none/, 'group', 'edit', 'none', '--mode', 'report');
  const wrong = await file('wrong.json', { rules: [{ ...policy.rules[0], grace: 'soon' }], groups: [] });
  await refused(
    2,
    /grace: "soon": not a duration; write seconds, such as 604800, or "7d"/,
    'policy',
    'import',
    wrong,
  );
});

t.test('rules and groups are made by commands, and the next push obeys', async t => {
  const { server, done } = await open(t, { repositories: ['alice/app'] });
  const clone = await Clone.of(server, server.path('alice/app'));
  await clone.commit(200_000);
  t.match(await clone.push(), { code: 0 });
  await server.usageIs('alice', used => used > 200_000);
  await clone.commit(1000);

  t.equal(
    await done('rule', 'create', 'small', '--limit', '100k', '--subject', 'size:git:all'),
    'Created rule small: at most 100 kB of size:git:all.\n',
  );
  t.equal(await done('group', 'create', 'free', '--rule', 'small'), 'Created group free with small.\n');
  t.equal(await done('group', 'add-user', 'free', 'alice'), 'Added alice to group free.\n');
  const { code, said } = await clone.push();
  t.equal(code, 1);
  t.match(said, /of 100 kB .*\nDecided by rule "small" of group "free"\./);

  t.equal(
    await done('rule', 'edit', 'small', '--limit', '1.5MiB'),
    'Rule small is now: at most 1.5 MiB of size:git:all.\n',
  );
  t.match(await clone.push(), { code: 0 });
  await done('rule', 'edit', 'small', '--limit', '0');
  await clone.commit(1000);
  t.match(await clone.push(), { code: 1 });
  t.equal(await done('group', 'remove-user', 'free', 'alice'), 'Removed alice from group free.\n');
  t.match(await clone.push(), { code: 0 });
});

t.test('every command of rules and groups prints tables for people and JSON for programs', async t => {
  const { server, done, json } = await open(t);
  t.match(await done('rule', 'list'), /^No rules: .* softquota rule create\.\n$/);
  t.match(await done('group', 'list'), /^No groups\. Create one with softquota group create\.\n$/);
  t.strictSame(await json('rule', 'create', 'total', '--limit', '10 GB', '--subject', 'size:all'), {
    name: 'total',
    limit: 10_000_000_000,
    subjects: ['size:all'],
  });
  await done(
    'rule',
    'create',
    'media',
    '--limit',
    '-1',
    '--subject',
    'size:git:lfs, none',
    '--subject',
    'size:assets:all',
  );
  await done('rule', 'create', 'odd', '--limit', '1234567890', '--subject', 'size:assets:wiki');
  await done('user', 'create', 'alice');
  await done('user', 'create', 'acme', '--type', 'organization');
  t.match(
    await done('group', 'create', 'empty'),
    /^Created group empty without rules; add one with softquota group add-rule/,
  );
  t.strictSame(await json('group', 'create', 'free', '--rule', 'total', '--rule', 'media'), {
    name: 'free',
    rules: [
      { name: 'total', limit: 10_000_000_000, subjects: ['size:all'] },
      { name: 'media', limit: -1, subjects: ['size:git:lfs', 'none', 'size:assets:all'] },
    ],
  });
  await done('group', 'add-user', 'free', 'acme');
  await done('group', 'add-user', 'free', 'alice');
  t.equal(await done('group', 'add-rule', 'empty', 'odd'), 'Added rule odd to group empty.\n');

  t.equal(
    await done('rule', 'list'),
    'RULE                    LIMIT  OF                                   IN GROUPS\n' +
      'total                   10 GB  size:all                             free\n' +
      'media               unlimited  size:git:lfs, none, size:assets:all  free\n' +
      'odd    1.23 GB (1234567890 B)  size:assets:wiki                     empty\n',
  );
  t.equal(
    await done('group', 'list'),
    'GROUP  USERS  RULES\n' +
      'empty      0  odd (1.23 GB (1234567890 B))\n' +
      'free       2  total (10 GB), media (unlimited)\n',
  );
  t.equal(
    await done('group', 'show', 'free'),
    'free has:\n  total: at most 10 GB of size:all\n' +
      '  media: any amount of size:git:lfs, none, size:assets:all\nMembers: acme, alice\n',
  );
  t.equal(
    await done('rule', 'show', 'media'),
    'media: any amount of size:git:lfs, none, size:assets:all.\nGroups with this rule: free.\n',
  );
  t.match(await json('group', 'show', 'free'), { name: 'free', users: ['acme', 'alice'] });
  t.match(await json('rule', 'show', 'odd'), { limit: 1_234_567_890, groups: ['empty'] });
  t.equal((await json('rule', 'list')).length, 3);
  t.equal((await json('group', 'list')).length, 2);
  t.match(await json('rule', 'edit', 'odd', '--subject', 'size:all'), {
    limit: 1_234_567_890,
    subjects: ['size:all'],
  });

  t.equal(await done('group', 'remove-rule', 'empty', 'odd'), 'Removed rule odd from group empty.\n');
  t.match(await done('group', 'show', 'empty'), /^empty has no rules, .*\nMembers: none\n$/);
  t.match(await done('rule', 'show', 'odd'), /\nNo group has this rule, so it limits nobody\.\n$/);
  t.equal(await done('rule', 'delete', 'odd'), 'Deleted rule odd.\n');
  t.equal(await done('group', 'delete', 'free'), 'Deleted group free.\n');
  t.strictSame(await json('rule', 'list').then(rules => rules.length), 2, 'the rules of a group remain');
  t.match(await server.softquota(['user', 'show', 'alice', '--json']), { stdout: /"groups": \[\]/ });
});

t.test('names go to the daemon as they are, and to a terminal harmless', async t => {
  const { done, json } = await open(t);
  const name = 'a/b %2F\u202e ?#é';
  await done('rule', 'create', name, '--limit', '1k', '--subject', 'size:all');
  await done('group', 'create', '--rule', name, '--', '-g/\u200b');
  t.match(await json('rule', 'show', name), { name, groups: ['-g/\u200b'] });
  t.notMatch(await done('rule', 'list'), /[\u200b\u202e]/);
  t.notMatch(await done('group', 'list'), /[\u200b\u202e]/);
  const shown = await done('group', 'show', '--', '-g/\u200b');
  t.match(shown, 'a/b %2F\\u{202e} ?#é');
  const exported = await done('policy', 'export');
  t.notMatch(exported, /[\u200b\u202e]/);
  t.match(JSON.parse(exported), { rules: [{ name }], groups: [{ name: '-g/\u200b' }] });
  await done('group', 'remove-rule', '--', '-g/\u200b', name);
  await done('group', 'delete', '--', '-g/\u200b');
  await done('rule', 'delete', name);
});

t.test('what cannot be done is told with the exit status for it', async t => {
  const { server, done, refused } = await open(t);
  await done('rule', 'create', 'total', '--limit', '10G', '--subject', 'size:all');
  await done('group', 'create', 'free', '--rule', 'total');
  const create = ['rule', 'create', 'x', '--limit'];
  await refused(
    2,
    /--limit 10 gigs: not a size; write a number and a unit, such as 500M/,
    ...create,
    '10 gigs',
    '--subject',
    'size:all',
  );
  await refused(2, /--limit -2: below 0; only -1/, ...create, '-2', '--subject', 'size:all');
  await refused(
    2,
    /--subject size:git:lsf: .* did you mean size:git:lfs\?/,
    ...create,
    '1',
    '--subject',
    'size:git:lsf',
  );
  await refused(
    2,
    /--subject bytes: .* expected one of size:all, .*none/,
    ...create,
    '1',
    '--subject',
    'bytes',
  );
  await refused(2, /required option '--subject/, ...create, '1');
  await refused(2, /name: .*directory/, 'rule', 'create', '.', '--limit', '1', '--subject', 'size:all');
  await refused(
    1,
    /the rule total exists already/,
    'rule',
    'create',
    'total',
    '--limit',
    '1',
    '--subject',
    'size:all',
  );
  await refused(2, /nothing to change: give --limit/, 'rule', 'edit', 'total');
  await refused(1, /there is no rule gone/, 'rule', 'edit', 'gone', '--limit', '1');
  await refused(1, /there is no rule gone/, 'rule', 'delete', 'gone');
  await refused(
    2,
    /rules\.0\.limit: it is missing, and there is no rule of that name/,
    'group',
    'create',
    'y',
    '--rule',
    'gone',
  );
  await refused(1, /the group free exists already/, 'group', 'create', 'free');
  await refused(1, /there is no group gone/, 'group', 'show', 'gone');
  await refused(
    1,
    /there is no user or organization dave; create it with softquota user create/,
    'group',
    'add-user',
    'free',
    'dave',
  );
  await refused(0, /the rule total is in the group free already/, 'group', 'add-rule', 'free', 'total');
  await refused(2, /unknown command 'remove'/, 'group', 'remove', 'free');

  await done('user', 'create', 'bob');
  const token = (await done('token', 'create', '--user', 'bob')).trim();
  const url = String((await server.daemon.logged(/^softquota answers/)).http);
  const env = { SOFTQUOTA_URL: url, SOFTQUOTA_TOKEN: token };
  for (const args of [
    ['group', 'list'],
    ['policy', 'export'],
    ['rule', 'delete', 'total'],
  ]) {
    t.match(await server.softquota(args, { env }), { code: 77, stderr: /only administrators may do this/ });
  }
  const admin = (await done('token', 'create', '--user', 'root', '--admin')).trim();
  const over = { env: { SOFTQUOTA_URL: url, SOFTQUOTA_TOKEN: admin, SOFTQUOTA_CONFIG: '' }, cwd: '/' };
  t.match(await server.softquota(['group', 'list'], over), { code: 0, stdout: /\nfree / });

  await server.stop();
  for (const args of [
    ['group', 'list'],
    ['rule', 'list'],
    ['policy', 'lint'],
    ['policy', 'export'],
  ]) {
    await refused(69, /no daemon answers at/, ...args);
  }
});

t.test('what one installation exports, an empty one imports, users and all', async t => {
  const one = await open(t);
  await one.done('user', 'create', 'alice');
  await one.done('user', 'create', 'bob');
  await one.done('rule', 'create', 'total', '--limit', '10G', '--subject', 'size:all');
  await one.done('rule', 'create', 'lfs', '--limit', '1.5GiB', '--subject', 'size:git:lfs');
  await one.done('group', 'create', 'free', '--rule', 'lfs', '--rule', 'total');
  await one.done('group', 'create', 'unlimited');
  for (const name of ['bob', 'alice']) await one.done('group', 'add-user', 'free', name);
  const file = join(one.server.folder, 'policy.json');
  const said = await one.server.softquota(['policy', 'export', file]);
  t.match(said, { code: 0, stdout: '', stderr: `Exported 2 rules and 2 groups to ${file}.\n` });
  const text = await readFile(file, 'utf8');
  t.strictSame(JSON.parse(text), {
    rules: [
      { name: 'total', limit: 10_000_000_000, subjects: ['size:all'] },
      { name: 'lfs', limit: 1_610_612_736, subjects: ['size:git:lfs'] },
    ],
    groups: [
      { name: 'free', rules: ['lfs', 'total'], users: ['bob', 'alice'] },
      { name: 'unlimited', rules: [], users: [] },
    ],
  });
  t.equal((await stat(file)).mode & 0o111, 0);
  t.equal(await one.done('policy', 'export', '-'), text);
  const pipe = join(one.server.folder, 'pipe');
  await must('mkfifo', [pipe]);
  const [piped] = await Promise.all([readFile(pipe, 'utf8'), one.done('policy', 'export', pipe)]);
  t.equal(piped, text);
  t.ok((await stat(pipe)).isFIFO(), 'a pipe or a device is written to, and not replaced by a file');
  t.notMatch(await one.done('policy', 'export', '--no-users'), /users|alice/);

  const other = await open(t);
  await other.done('user', 'create', 'bob');
  await other.refused(
    2,
    /groups\.0\.users\.1: there is no user or organization alice; .*policy import --create-users/,
    'policy',
    'import',
    file,
  );
  t.equal(
    await other.done('policy', 'export'),
    '{\n  "rules": [],\n  "groups": []\n}\n',
    'nothing of it was taken',
  );
  t.equal(
    await other.done('policy', 'import', '--create-users', file),
    '+ rule total: at most 10 GB of size:all\n' +
      '+ rule lfs: at most 1.5 GiB of size:git:lfs\n' +
      '+ group free: 2 rules lfs, total; 2 users bob, alice\n' +
      '+ group unlimited: no rules; nobody\n' +
      '+ user alice\n\n' +
      '0 of 1 owner would be newly refused, 0 would be newly allowed.\n\n' +
      'Imported. The policy is in force.\n',
  );
  t.equal(await other.done('policy', 'export'), text);
  t.equal(
    await other.done('policy', 'import', file),
    'Nothing would change: this policy is already in force.\n',
  );
  t.match(await other.json('policy', 'import', file), {
    imported: false,
    difference: null,
    created_users: [],
  });
});

t.test(
  'an import shows what comes, goes and changes, and who would be refused, before anything is changed',
  async t => {
    const { server, done, json, file, stores } = await open(t, { ini: { 'quota.default': { TOTAL: '-1' } } });
    await stores('alice', 8_000_000_000);
    await stores('bob', 12_000_000_000);
    const before = {
      rules: [
        { name: 'total', limit: '10G', subjects: ['size:all'] },
        { name: 'old', limit: -1, subjects: ['size:assets:wiki'] },
      ],
      groups: [
        { name: 'free', rules: ['total'], users: ['alice', 'bob'] },
        { name: 'gone', rules: ['old'], users: ['bob'] },
      ],
    };
    await done('policy', 'import', await file('before.json', before));
    const exported = await done('policy', 'export');
    const after = await file('after.json', {
      rules: [
        { name: 'total', limit: '5 GB', subjects: ['size:all'] },
        { name: 'lfs', limit: '1.5GiB', subjects: ['size:git:lfs', 'size:assets:packages:all'] },
      ],
      groups: [
        { name: 'free', rules: ['total', 'lfs'], users: ['alice'] },
        { name: 'new', rules: [], users: ['bob'] },
      ],
    });
    const shown = await done('policy', 'import', '--dry-run', after);
    t.equal(
      shown.replace(/ {2,}/g, '  '),
      '+ rule lfs: at most 1.5 GiB of size:git:lfs, size:assets:packages:all\n' +
        '~ rule total: at most 5 GB of size:all (was 10 GB)\n' +
        '- rule old: any amount of size:assets:wiki\n' +
        '+ group new: no rules; user bob\n' +
        '~ group free: + rule lfs; - user bob\n' +
        '- group gone: rule old; user bob\n' +
        '\n' +
        '1 of 2 owners would be newly refused, 1 would be newly allowed.\n' +
        '\n' +
        'NEWLY REFUSED  WHAT  USED  LIMIT  BY\n' +
        'alice  size:repos:all, size:assets:attachments:all, size:assets:artifacts, size:assets:wiki  8 GB  5 GB  rule total of free\n' +
        'alice  size:git:lfs, size:assets:packages:all  8 GB  1.61 GB  rule lfs of free\n' +
        '\n' +
        'NEWLY ALLOWED  WHAT  USED  LIMIT  BY\n' +
        'bob  size:git:all, size:assets:attachments:all, size:assets:artifacts, size:assets:packages:all  12 GB  unlimited  [quota.default] TOTAL\n',
    );
    t.equal(await done('policy', 'export'), exported, 'a dry run changes nothing');
    await done('check', 'bob', '--subject', 'size:assets:wiki');
    t.match(await json('policy', 'import', '--dry-run', after), {
      imported: false,
      difference: { groups: { changed: [{ name: 'free', users: { added: [], removed: ['bob'] } }] } },
      simulation: { refused: { count: 1, first: [{ user: 'alice' }] } },
    });
    t.match(await done('policy', 'import', after), /\n\nImported\. The policy is in force\.\n$/);
    t.match(await server.softquota(['check', 'alice', '--subject', 'size:git:lfs']), { code: 1 });
    const events = await server.ask('admin', '/api/v1/admin/quota/events?kind=policy&limit=50');
    const changes = JSON.parse(events.text).map(({ change }: { change: string }) => change);
    t.equal(new Set(changes.slice(0, 6)).size, 1, 'on record as one change');

    const reordered = JSON.parse(await done('policy', 'export'));
    reordered.rules.reverse();
    t.match(
      await done('policy', 'import', await file('order.json', reordered)),
      /^Only the order changes\.\n/,
    );
    t.strictSame(JSON.parse(await done('policy', 'export')), reordered);
  },
);

t.test('on a terminal an import asks, and what somebody changed meanwhile is not overwritten', async t => {
  const { server, done, file } = await open(t);
  const wanted = await file('wanted.json', {
    rules: [{ name: 'total', limit: 1, subjects: [] }],
    groups: [],
  });
  const answering = async (meanwhile: () => Promise<unknown>, answer: string) => {
    const line = `${process.execPath} ${launcher} policy import ${wanted}`;
    const terminal = spawn('script', ['-qec', line, '/dev/null'], {
      env: { ...plainEnvironment, SOFTQUOTA_CONFIG: server.config },
    });
    let seen = '';
    let asked = false;
    for await (const chunk of terminal.stdout) {
      seen += stripVTControlCharacters(String(chunk));
      if (asked || !seen.includes('Import it? [y/N]')) continue;
      asked = true;
      await meanwhile();
      terminal.stdin.write(`${answer}\n`);
    }
    const code = terminal.exitCode ?? (await once(terminal, 'close'))[0];
    return { code, seen: seen.replaceAll('\r', '') };
  };
  const nothing = async () => {};
  t.match(await answering(nothing, 'n'), { code: 1, seen: /^\+ rule total[\s\S]*Nothing was imported\.\n$/ });
  t.match(await answering(nothing, ''), { code: 1, seen: /Nothing was imported\.\n$/ });
  const other = () => done('rule', 'create', 'other', '--limit', '1', '--subject', 'size:all');
  t.match(await answering(other, 'y'), {
    code: 1,
    seen: /somebody else changed the policy after these changes were shown\. Nothing was imported/,
  });
  t.match(JSON.parse(await done('policy', 'export')), { rules: [{ name: 'other' }] });
  t.match(await answering(nothing, 'yes'), {
    code: 0,
    seen: /- rule other[\s\S]*Imported\. The policy is in force\.\n$/,
  });
  t.match(JSON.parse(await done('policy', 'export')).rules, [{ name: 'total' }]);
});

t.test('a file that cannot be taken is told with every fault, and where it stands', async t => {
  const { server, done, refused, file } = await open(t);
  const faulty = await file('faulty.json', {
    rules: [
      { name: ' ', limit: '10 gigs', subjects: ['size:lfs'] },
      { name: 'a', limit: -7, subjects: [], more: 1 },
      { name: 'b' },
    ],
    groups: [{ rules: 'a' }],
  });
  const { code, stderr } = await server.softquota(['policy', 'import', faulty]);
  t.equal(code, 2);
  const lines = stderr
    .trimEnd()
    .replace(/^softquota: /, '')
    .split('\n')
    .map(line => line.replace(`${faulty}: `, ''));
  t.match(lines, [
    'rules.0.name: it has only spaces',
    'rules.0.limit: "10 gigs": not a size; write a number and a unit, such as 500M',
    'rules.0.subjects.0: there is no subject "size:lfs"',
    'rules.1.limit: expected whole bytes',
    /rules\.1: .*more/,
    'rules.2.limit: it is missing',
    /groups\.0\.name: /,
    /groups\.0\.rules: /,
  ]);
  await refused(2, /no-json: not valid JSON: /, 'policy', 'import', await file('no-json', '{"rules": ['));
  await refused(74, /ENOENT/, 'policy', 'simulate', '/nowhere/policy.json');
  await refused(
    2,
    /groups: it is missing; an import replaces all/,
    'policy',
    'import',
    await file('half', { rules: [] }),
  );
  await refused(
    2,
    /settings: an import cannot change settings of app\.ini; softquota policy simulate/,
    'policy',
    'import',
    await file('s', { rules: [], groups: [], settings: { total: '1G' } }),
  );
  await refused(
    2,
    /there is no rule gone among the rules/,
    'policy',
    'import',
    await file('g', { rules: [], groups: [{ name: 'g', rules: ['gone'] }] }),
  );
  await refused(74, /nowhere/, 'policy', 'export', '/nowhere/policy.json');
  t.equal(await done('policy', 'export'), '{\n  "rules": [],\n  "groups": []\n}\n');
});

t.test('a policy is tried before it is enforced: who would be refused, and what is odd about it', async t => {
  const { server, done, json, file, stores } = await open(t, { ini: { 'quota.default': { TOTAL: '10G' } } });
  await stores('alice', 8_000_000_000);
  await stores('bob', 12_000_000_000);
  t.match(await server.softquota(['policy', 'lint']), { code: 0, stdout: 'No problems found.\n' });
  const trial = await file('trial.json', { settings: { total: '5 GB' } });
  const simulated = await done('policy', 'simulate', trial);
  t.match(simulated, /^1 of 2 owners would be newly refused, 0 would be newly allowed\.\n\nNEWLY REFUSED/);
  t.match(simulated, /\nalice .* 8 GB +5 GB +\[quota\.default\] TOTAL\n$/);
  const odd = {
    rules: [{ name: 'r', limit: 1, subjects: ['none'] }],
    groups: [{ name: 'g', rules: ['r'], users: ['bob'] }],
  };
  const oddFile = await file('odd.json', odd);
  t.match(await server.softquota(['policy', 'lint', oddFile]), {
    code: 1,
    stdout: /^Rule "r" of group "g" has no subject/,
  });
  t.match(await json('policy', 'simulate', oddFile), { lint: [{ code: 'matches_nothing', rule: 'r' }] });
  t.match(await done('policy', 'simulate', oddFile), /\n\nRule "r" of group "g" has no subject/);
  await done('policy', 'import', oddFile);
  const { code, stdout } = await server.softquota(['policy', 'lint', '--json']);
  t.equal(code, 1);
  t.match(JSON.parse(stdout), [{ code: 'matches_nothing' }]);
  t.match(await server.softquota(['policy', 'lint', '-'], { input: '{"groups": []}' }), { code: 0 });
  await server.stop();
  t.match(
    await server.softquota(['policy', 'lint', oddFile]),
    { code: 1, stdout: /has no subject/ },
    'no daemon is needed',
  );
  const incomplete = await file('incomplete.json', { groups: [{ name: 'g', rules: ['r'] }] });
  t.match(await server.softquota(['policy', 'lint', incomplete]), {
    code: 2,
    stderr: /incomplete\.json: groups\.0\.rules\.0\.limit: it is missing, and there is no rule of that name/,
  });
  const alone = await run(process.execPath, [launcher, 'policy', 'lint', oddFile], { cwd: '/' });
  t.match(alone, { code: 1, stdout: /^Rule "r" of group "g" has no subject[^\n]*\n$/ }, 'and no app.ini');
});
