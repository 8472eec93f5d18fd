/** `softquota policy`: what its commands do with files, print, and exit with. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import t from 'tap';
import { openCommandServer } from './command-server.ts';
import { launcher } from './daemon.ts';
import { must, plainEnvironment, run } from './run.ts';

t.setTimeout(600_000);

const { server, done, refused } = await openCommandServer(t);

t.test('what one installation exports, an empty one imports, users and all', async t => {
  const one = await openCommandServer(t);
  await one.done('user create alice');
  await one.done('user create bob');
  await one.done('rule create total --limit 10G --subject size:all');
  await one.done('rule create lfs --limit 1.5GiB --subject size:git:lfs');
  await one.done('group create free --rule lfs --rule total');
  await one.done('group create unlimited');
  for (const name of ['bob', 'alice']) await one.done('group add-user free', name);
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
  t.equal(await one.done('policy export -'), text);
  const pipe = join(one.server.folder, 'pipe');
  await must('mkfifo', [pipe]);
  const [piped] = await Promise.all([readFile(pipe, 'utf8'), one.done('policy export', pipe)]);
  t.equal(piped, text);
  t.ok((await stat(pipe)).isFIFO(), 'a pipe or a device is written to, and not replaced by a file');
  t.notMatch(await one.done('policy export --no-users'), /users|alice/);

  const other = await openCommandServer(t);
  await other.done('user create bob');
  await other.refused(
    2,
    /groups\.0\.users\.1: there is no user or organization alice; .*policy import --create-users/,
    'policy import',
    file,
  );
  t.equal(
    await other.done('policy export'),
    '{\n  "rules": [],\n  "groups": []\n}\n',
    'nothing of it was taken',
  );
  t.equal(
    await other.done('policy import --create-users', file),
    '+ rule total: at most 10 GB of size:all\n' +
      '+ rule lfs: at most 1.5 GiB of size:git:lfs\n' +
      '+ group free: 2 rules lfs, total; 2 users bob, alice\n' +
      '+ group unlimited: no rules; nobody\n' +
      '+ user alice\n\n' +
      '0 of 1 owner would be newly refused, 0 would be newly allowed.\n\n' +
      'Imported. The policy is in force.\n',
  );
  t.equal(await other.done('policy export'), text);
  t.equal(
    await other.done('policy import', file),
    'Nothing would change: this policy is already in force.\n',
  );
  t.match(await other.json('policy import', file), {
    imported: false,
    difference: null,
    created_users: [],
  });
});

t.test('an import shows what it changes before it acts, and is on record as one change', async t => {
  const { server, done, json } = await openCommandServer(t, {
    ini: { 'quota.default': { TOTAL: '-1' } },
  });
  await server.reports('alice', 8_000_000_000);
  await server.reports('bob', 12_000_000_000);
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
  await done('policy import', await server.file('before.json', before));
  const exported = await done('policy export');
  const after = await server.file('after.json', {
    rules: [{ name: 'total', limit: '5 GB', subjects: ['size:all'] }],
    groups: [
      { name: 'free', rules: ['total'], users: ['alice'] },
      { name: 'new', rules: [], users: ['bob'] },
    ],
  });
  const shown = await done('policy import --dry-run', after);
  t.ok(
    shown.startsWith(
      '~ rule total: at most 5 GB of size:all (was 10 GB)\n' +
        '- rule old: any amount of size:assets:wiki\n' +
        '+ group new: no rules; user bob\n' +
        '~ group free: - user bob\n' +
        '- group gone: rule old; user bob\n' +
        '\n1 of 2 owners would be newly refused, 1 would be newly allowed.\n',
    ),
    shown,
  );
  t.match(shown, /\nNEWLY ALLOWED .*\nbob .* 12 GB +unlimited +\[quota\.default\] TOTAL\n$/);
  t.equal(await done('policy export'), exported, 'a dry run changes nothing');
  t.match(await json('policy import --dry-run', after), {
    imported: false,
    difference: { groups: { changed: [{ name: 'free', users: { added: [], removed: ['bob'] } }] } },
    simulation: { refused: { count: 1, first: [{ user: 'alice' }] } },
  });
  t.match(await done('policy import', after), /\n\nImported\. The policy is in force\.\n$/);
  t.match(await server.softquota('check alice --subject size:git:lfs'), { code: 1 });
  const events = await server.admin('/admin/quota/events?kind=policy&limit=50');
  const changes = events.map(({ change }: { change: string }) => change);
  t.equal(new Set(changes.slice(0, 5)).size, 1, 'on record as one change');

  const reordered = JSON.parse(await done('policy export'));
  reordered.groups.reverse();
  t.match(
    await done('policy import', await server.file('order.json', reordered)),
    /^Only the order changes\.\n/,
  );
  t.strictSame(JSON.parse(await done('policy export')), reordered);
});

t.test('a file that cannot be taken is told with every fault, and where it stands', async t => {
  const faulty = await server.file('faulty.json', {
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
  const refusedFile = async (said: RegExp, content: unknown) =>
    refused(2, said, 'policy import', await server.file('wrong', content));
  await refusedFile(/wrong: not valid JSON: /, '{"rules": [');
  await refusedFile(/groups: it is missing; an import replaces all/, { rules: [] });
  const settings = /settings: an import cannot change settings of app\.ini; softquota policy simulate/;
  await refusedFile(settings, { rules: [], groups: [], settings: { total: '1G' } });
  const unknown = { rules: [], groups: [{ name: 'g', rules: ['gone'] }] };
  await refusedFile(/there is no rule gone among the rules/, unknown);
  await refused(74, /ENOENT/, 'policy simulate /nowhere/policy.json');
  await refused(74, /nowhere/, 'policy export /nowhere/policy.json');
  t.equal(await done('policy export'), '{\n  "rules": [],\n  "groups": []\n}\n');
});

t.test('on a terminal an import asks, and what somebody changed meanwhile is not overwritten', async t => {
  const rules = [{ name: 'total', limit: 1, subjects: [] }];
  const wanted = await server.file('wanted.json', { rules, groups: [] });
  const answering = async (meanwhile: () => Promise<unknown>, answer: string, option = '') => {
    const line = `${process.execPath} ${launcher} policy import ${wanted} ${option}`;
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
  const asked = /^\+ rule total[\s\S]*Import it\? \[y\/N\] n\n$/;
  t.match(await answering(nothing, 'n', '--json'), { code: 1, seen: asked }, 'also with --json');
  const other = () => done('rule create other --limit 1 --subject size:all');
  t.match(await answering(other, 'y'), {
    code: 1,
    seen: /somebody else changed the policy after these changes were shown\. Nothing was imported/,
  });
  t.match(JSON.parse(await done('policy export')), { rules: [{ name: 'other' }] });
  t.match(await answering(nothing, 'yes'), {
    code: 0,
    seen: /- rule other[\s\S]*Imported\. The policy is in force\.\n$/,
  });
  t.match(JSON.parse(await done('policy export')).rules, [{ name: 'total' }]);
});

t.test('what is odd about a policy is told, before it is in force and without a daemon', async t => {
  const { server, done, json } = await openCommandServer(t);
  await done('user create bob');
  const odd = {
    rules: [{ name: 'r', limit: 1, subjects: ['none'] }],
    groups: [{ name: 'g', rules: ['r'], users: ['bob'] }],
  };
  const oddFile = await server.file('odd.json', odd);
  t.match(await server.softquota(['policy', 'lint', oddFile]), {
    code: 1,
    stdout: /^Rule "r" of group "g" has no subject/,
  });
  t.match(await json('policy simulate', oddFile), { lint: [{ code: 'matches_nothing', rule: 'r' }] });
  t.match(await done('policy simulate', oddFile), /\n\nRule "r" of group "g" has no subject/);
  await done('policy import', oddFile);
  const { code, stdout } = await server.softquota('policy lint --json');
  t.equal(code, 1);
  t.match(JSON.parse(stdout), [{ code: 'matches_nothing' }]);
  t.match(await server.softquota('policy lint -', { input: '{"groups": []}' }), { code: 0 });
  await server.stop();
  t.match(
    await server.softquota(['policy', 'lint', oddFile]),
    { code: 1, stdout: /has no subject/ },
    'no daemon is needed',
  );
  const incomplete = await server.file('incomplete.json', { groups: [{ name: 'g', rules: ['r'] }] });
  t.match(await server.softquota(['policy', 'lint', incomplete]), {
    code: 2,
    stderr: /incomplete\.json: groups\.0\.rules\.0\.limit: it is missing, and there is no rule of that name/,
  });
  const alone = await run(process.execPath, [launcher, 'policy', 'lint', oddFile], { cwd: '/' });
  t.match(alone, { code: 1, stdout: /^Rule "r" of group "g" has no subject[^\n]*\n$/ }, 'and no app.ini');
});
