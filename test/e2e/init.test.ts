/**
 * `softquota init`: from a server's tree to a configuration that measures what lies there and refuses nobody.
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import { mkdir, readFile, rename, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { z } from 'zod';
import { ownerRow } from '../../src/wire/index.ts';
import { makeTree, repository, totalsOf } from '../doctor/survey/world.ts';
import { isLong } from '../run-length.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { ask } from './ask.ts';
import { asNobody, softquota } from './commands.ts';
import { launcher } from './daemon.ts';
import { init, start, toldBy } from './init-world.ts';
import { must, type Run, run } from './run.ts';
import { SandboxHost } from './sandbox-host.ts';

t.setTimeout(300_000);

/** A command line that was printed to be copied, run as it stands. */
function copied(line: string, folder: string): Promise<Run> {
  return run('sh', ['-c', `softquota() { "${process.execPath}" "${launcher}" "$@"; }\n${line}`], {
    cwd: folder,
  });
}

/** Everything that the daemon knows owners to have. */
async function usage(folder: string): Promise<ReadonlyMap<string | null, number>> {
  const { text } = await ask(join(folder, 'data/admin.sock'), '/api/v1/admin/quota/usage?limit=1000');
  const rows = z.array(ownerRow).parse(JSON.parse(text));
  return new Map(rows.map(({ name, total }) => [name, total]));
}

const inOrder = (totals: ReadonlyMap<string | null, number>) =>
  [...totals].filter(([name]) => name !== null).sort(([a], [b]) => (String(a) < String(b) ? -1 : 1));

const owners = isLong ? 200 : 20;

t.test(`${owners} owners are measured to the byte, and none is refused`, async t => {
  const folder = temporaryFolder(t);
  await mkdir(join(folder, 'tree'));
  await mkdir(join(folder, 'here'));
  const here = join(folder, 'here');
  const tree = makeTree('owners', join(folder, 'tree'), owners);
  const totals = totalsOf(tree);
  const expected = inOrder(totals);
  const told = await toldBy(here, tree.given);
  t.match(told, { layout: 'owners', owners: expected.length, config: join(here, 'app.ini') });
  const bySize = expected.toSorted(([, a], [, b]) => b - a);
  t.strictSame(
    told.largest.map(({ name, total }) => [name, total]),
    bySize.slice(0, 10),
  );
  t.strictSame(
    told.proposal.refused.map(({ name, used }) => [name, used]),
    bySize.filter(([, total]) => total > told.proposal.bytes),
  );
  t.match(await softquota(['serve', '--check-config'], { cwd: here }), { code: 0, stderr: '' });

  // Measuring is impossible from here on: all figures come from init.
  await rename(tree.root, `${tree.root}.away`);
  await start(t, here, { SOFTQUOTA__QUOTA_0X2E_DEFAULT__TOTAL: '1' });
  t.strictSame(inOrder(await usage(here)), expected);
  const [largest = ['']] = bySize;
  const query = new URLSearchParams({ owner: String(largest[0]), subject: 'size:repos:private' });
  const { status, text } = await ask(join(here, 'data/gate.sock'), `/v1/check?${query}`);
  t.equal(status, 200);
  t.match(JSON.parse(text), { allowed: true, would_refuse: true, mode: 'report' });
});

t.test('what init prints can be copied: look, install the hooks, enforce', async t => {
  const folder = temporaryFolder(t);
  const tree = makeTree('owners', join(folder, 'tree with "odd" names; #1'), 30);
  const bare = join(tree.root, 'owner000/app.git');
  await must('git', ['init', '-q', '--bare', '-b', 'main', bare]);
  await writeFile(join(bare, 'objects/ab/filler'), Buffer.alloc(3_000_000));
  const told = await toldBy(folder, tree.given);
  t.match(told.proposal.refused, [{ name: 'owner000' }]);
  const daemon = await start(t, folder);

  t.match(await copied(told.next.look, folder), { code: 0, stdout: /\nowner000 .*\n(?:.*\n){19}$/ });
  t.match(await copied(told.next.hooks ?? '', folder), { code: 0, stdout: /60 repositories/ });
  const clone = join(folder, 'clone');
  await must('git', ['clone', '-q', bare, clone]);
  const push = async () => {
    await must('git', ['commit', '-q', '--allow-empty', '-m', 'more'], { cwd: clone });
    return run('git', ['push', 'origin', 'HEAD:main'], { cwd: clone });
  };
  t.match(await push(), { code: 0 });

  t.match(await copied(told.next.enforce, folder), { code: 0, stderr: '' });
  t.match(await softquota(['serve', '--check-config'], { cwd: folder }), { code: 0 });
  daemon.child.kill('SIGHUP');
  await daemon.logged(/configuration is reloaded/);
  const refused = await push();
  t.equal(refused.code, 1);
  t.match(refused.stderr, /Quota exceeded: owner000 uses 3\.\d+ MB of /);
});

t.test('people read what was found, who is large, whom a limit would refuse, whose nothing is', async t => {
  const folder = temporaryFolder(t);
  const tree = makeTree('gitlab', join(folder, 'tree'), 40);
  const { code, stdout } = await init(folder, tree.given);
  t.equal(code, 0);
  t.ok(stdout.startsWith(`Found GitLab in ${tree.root}:\n`), stdout);
  t.match(stdout, /owner taken from gitlab\.fullpath in its config for 40 of 44 repositories/);
  t.match(stdout, /each project is an owner of its own/);
  t.match(stdout, /GitLab does not run the hooks of a repository: usage is measured and reported/);
  t.notMatch(stdout, /hooks install/);
  t.match(stdout, /\nMeasured 44 units: /);
  t.match(
    stdout,
    /\nBILLED TO +SIZE +BYTES +REPOSITORIES +WHERE\nowner000\/app +40\.\d kB +40\d\d\d +1 +\S+\/@hashed\/5f\/ec\n/,
  );
  t.match(stdout, /\n30 smaller owners +\S+ kB +\d+ +- +-\n/);
  t.match(
    stdout,
    /TOTAL = 20 kB \(2 of 40 owners are over it today: owner000\/app \(40\.\d kB\), owner001\/app/,
  );
  t.match(stdout, /(\nnobody: a repository without an owner +\S+ B +\d+ +- +\S+\.wiki\.git){4}\n/);
  t.match(stdout, /\nnobody: LFS objects +1 kB +1000 +- +\S+lfs-objects\n[\s\S]*POST \/v1\/units/);
  t.match(stdout, /Nothing is refused while it has MODE = report/);
  const ini = await readFile(join(folder, 'app.ini'), 'utf8');
  t.match(ini, /\nTOTAL = 20 kB\n/);
  t.match(ini, /\nOWNER = git-config gitlab\.fullpath\n/);
  t.equal((await stat(join(folder, 'app.ini'))).mode & 0o777, 0o644);
});

t.test('all owners over a given limit are counted, and twenty are named', async t => {
  const folder = temporaryFolder(t);
  const tree = makeTree('owners', join(folder, 'tree'), 22);
  const { code, stdout } = await init(folder, tree.given, '--total', '1');
  t.equal(code, 0);
  t.match(stdout, /TOTAL = 1 B \(22 of 22 owners are over it today: (?:\S+ \(\S+ k?B\),? ){20}and 2 more\)/);
  t.match(await readFile(join(folder, 'app.ini'), 'utf8'), /22 owners were over it/);
});

/** The rows of the table that says who is billed, by their first columns; the last one is the sum. */
function billedRows(stdout: string): readonly (readonly [to: string, bytes: number, where: string])[] {
  const [, rows = ''] = /\nBILLED TO [^\n]*\n((?:.+\n)+)/.exec(stdout) ?? [];
  const found = [...rows.matchAll(/^(.*?) +[\d.]+ k?M?B +(\d+) +\S+ +(\S+)$/gm)];
  return found.map(([, to = '', bytes, where = '']) => [to, Number(bytes), where]);
}

/** The bytes of the files in a directory, as du adds them up. */
async function du(directory: string): Promise<number> {
  const { stdout } = await run('sh', [
    '-c',
    'find "$1" -type f -print0 | du -cb --files0-from=- | tail -n 1',
    'du',
    directory,
  ]);
  return Number(stdout.split('\t')[0]);
}

const trees = {
  'two templates for one path': (root: string) => {
    for (const name of ['alice', 'bob', 'carol']) {
      repository(join(root, name, 'app.git'), name.length * 1000, { 'lfs/objects/aa/bb/aabb': 'large' });
      repository(join(root, name, 'deep/er/app.git'), 77);
    }
    return [
      ['alice', 2],
      ['carol', 2],
      ['bob', 2],
    ] as const;
  },
  'directories left out': (root: string) => {
    for (const name of ['alice', 'bob']) repository(join(root, name, 'app.git'), name.length * 1000);
    repository(join(root, 'nobodys.git'), 900, { description: 'beside the owners' });
    repository(join(root, 'alice/work/.git'), 800);
    repository(join(root, '.snapshots/bob/app.git'), 700);
    mkdirSync(join(root, 'backups'));
    writeFileSync(join(root, 'backups/of last year'), Buffer.alloc(600));
    writeFileSync(join(root, 'bob/notes'), Buffer.alloc(50));
    return [
      ['alice', 1],
      ['bob', 1],
    ] as const;
  },
};

for (const [tree, make] of Object.entries(trees)) {
  t.test(`the table of who is billed adds up to what du says: ${tree}`, async t => {
    const folder = temporaryFolder(t);
    const root = join(folder, 'git');
    const owners = make(root);
    const { code, stdout } = await init(folder, root);
    t.equal(code, 0);
    const rows = billedRows(stdout);
    t.strictSame(
      rows.slice(0, owners.length).map(([to]) => to),
      owners.map(([name]) => name),
    );
    for (const [name, count] of owners)
      t.match(stdout, new RegExp(`\\n${name} +\\S+ k?B +\\d+ +${count} +${root}`));
    const sum = rows.at(-1);
    t.strictSame(sum, ['all', await du(root), root]);
    t.equal(
      rows.slice(0, -1).reduce((bytes, row) => bytes + row[1], 0),
      sum?.[1],
    );
    for (const [to, bytes, where] of rows) {
      const isWhole =
        to !== 'nobody: files beside repositories' && (to.startsWith('nobody') || where !== root);
      if (isWhole && to !== 'alice' && to !== 'bob') t.equal(bytes, await du(where), to);
    }
    if (tree !== 'directories left out') return;
    t.strictSame(
      rows.filter(([to]) => to.startsWith('nobody')).map(([to, , where]) => [to, where.slice(root.length)]),
      [
        ['nobody: a repository without an owner', '/nobodys.git'],
        ['nobody: no bare repository', '/alice/work'],
        ['nobody: no bare repository', '/.snapshots'],
        ['nobody: no bare repository', '/backups'],
        ['nobody: files beside repositories', ''],
      ],
    );
  });
}

t.test('of all that is left out, programs get the largest directories and the number of all', async t => {
  const folder = temporaryFolder(t);
  const root = join(folder, 'git');
  repository(join(root, 'alice/app.git'), 5000);
  for (let bytes = 1; bytes <= 1001; bytes++) {
    mkdirSync(join(root, `backup${bytes}`));
    writeFileSync(join(root, `backup${bytes}/data`), Buffer.alloc(bytes));
  }
  const { unattributed } = await toldBy(folder, root);
  t.equal(unattributed.directory_count, 1001);
  t.strictSame(
    unattributed.directories.map(({ bytes }) => bytes),
    Array.from({ length: 1000 }, (_, at) => 1001 - at),
  );
});

t.test('a configuration that exists is never touched, and nothing is made that does not work', async t => {
  const folder = temporaryFolder(t);
  const { given } = makeTree('owners', join(folder, 'tree'), 2);
  const file = join(folder, 'app.ini');
  await writeFile(file, 'mine');
  const { code, stderr, stdout } = await init(folder, given);
  t.match({ code, stdout }, { code: 1, stdout: '' });
  t.match(stderr, /^softquota: .*app\.ini exists and is not changed; .*--config/);
  const below = await init(folder, given, '--config', join(file, 'app.ini'));
  t.match(below, {
    code: 74,
    stderr: /^softquota: .*app\.ini\/app\.ini cannot be created: ENOTDIR[^\n]*\n$/,
  });
  t.equal(await readFile(file, 'utf8'), 'mine');
  await symlink('/nonexistent/elsewhere', join(folder, 'link.ini'));
  t.match(await init(folder, given, '--config', 'link.ini'), {
    code: 1,
    stderr: /exists/,
  });

  const deep = join(folder, 'd'.repeat(90), 'app.ini');
  t.match(await init(folder, given, '--config', deep), {
    code: 2,
    stderr: /choose a shorter path with --config/,
  });
  t.match(await init(folder, given, '--config', join(folder, 'none/a/app.ini')), {
    code: 74,
    stderr: /cannot be created/,
  });
  t.match(await run('ls', ['-A', folder]), { stdout: 'app.ini\nlink.ini\ntree\n' });
});

t.test('where a daemon runs with these data already, init says so and leaves it alone', async t => {
  const folder = temporaryFolder(t);
  const { given } = makeTree('owners', join(folder, 'tree'), 2);
  await toldBy(folder, given);
  const daemon = await start(t, folder);
  const { code, stderr } = await init(folder, given, '--config', 'other.ini');
  t.equal(code, 1);
  t.match(stderr, /a daemon with DATA_PATH = .*\/data is already running/);
  t.ok(daemon.isRunning);
  await t.rejects(stat(join(folder, 'other.ini')));
});

t.test('who may not look into the repositories is told to be root, or the git server’s user', async t => {
  const folder = temporaryFolder(t);
  const { root } = makeTree('owners', join(folder, 'tree'), 2);
  await must('chmod', ['700', root]);
  await must('chmod', ['755', folder]);
  const { code, stderr } = await asNobody(['init', root, '--config', '/tmp/x.ini']);
  t.equal(code, 77);
  t.match(stderr, /no permission to read .*; run this as root/);
});

t.test('on a server, root’s /etc/softquota/app.ini uses the system’s places, and asks nothing', async t => {
  const sandbox = await SandboxHost.open(t);
  const git = join(sandbox.folder, 'git');
  for (const owner of ['alice', 'bob']) repository(join(git, owner, 'app.git'), 1000);
  const script = `
    groupadd -r git-server && useradd -r softquota && useradd -r -g git-server versions
    rm -rf /srv/git && cp -a "$1" /srv/git && chown -R versions:git-server /srv/git
    rm -rf /etc/softquota /var/lib/softquota /var/lib/gitolite3 /var/lib/gitea /var/lib/forgejo
    "$2" "$3" init --worker --config /etc/softquota/app.ini`;
  const { code, stdout, stderr } = await sandbox.run('sh', [
    '-ec',
    script,
    'sh',
    git,
    process.execPath,
    launcher,
  ]);
  t.equal(code, 0, stdout + stderr);
  t.match(
    stdout,
    /Found bare repositories in owner directories in \/srv\/git:\n- found in one of the usual directories/,
  );
  t.match(stdout, /\n {4}softquota usage\n/, 'the usual configuration need not be named');
  t.match(stdout, /\n.*\[hooks\] KEEP = true has it guard repositories that others make or copy there/);
  const ini = await sandbox.must('cat', ['/etc/softquota/app.ini']);
  for (const line of [
    'DATA_PATH = /var/lib/softquota',
    'SOCKET = /run/softquota/gate.sock',
    'SOCKET_GROUP = git-server',
    'TRUSTED_SOCKET = /run/softquota/trusted.sock',
    'ADMIN_SOCKET = /run/softquota/admin.sock',
  ]) {
    t.ok(ini.split('\n').includes(line), line);
  }
  const withUnit = `
    mkdir -p /etc/systemd/system && touch /etc/systemd/system/softquota.socket
    mv /etc/softquota/app.ini /tmp/before.ini
    "$1" "$2" init --hooks --worker --config /etc/softquota/app.ini >/dev/null && cat /etc/softquota/app.ini
    mv /tmp/before.ini /etc/softquota/app.ini`;
  const again = await sandbox.must('sh', ['-ec', withUnit, 'sh', process.execPath, launcher]);
  t.match(again, /^SOCKET = \/run\/softquota\/gate\.sock$/m);
  t.match(again, /^KEEP = true$/m, 'the worker guards later repositories, since the hooks are wanted');
  t.notOk(ini.includes('KEEP'));
  t.notMatch(again, 'SOCKET_GROUP', 'the unit decides it');

  const withWorker = `
    touch /etc/systemd/system/softquota-worker.service
    mkdir -p /etc/systemd/system/softquota-worker.service.d
    cd /etc/systemd/system && touch softquota-trusted.socket.d
    mv /etc/softquota/app.ini /tmp/before.ini
    ! "$1" "$2" init --worker --config /etc/softquota/app.ini && test ! -e /etc/softquota/app.ini
    rm softquota-trusted.socket.d && mkdir softquota-trusted.socket.d
    printf '# Written by softquota init --worker.\\n[Socket]\\nSocketGroup=before\\n' >softquota-trusted.socket.d/worker.conf
    printf '[Service]\\nUser=mine\\n' >softquota-worker.service.d/user.conf
    "$1" "$2" init --worker --config /etc/softquota/app.ini 2>&1
    mv /tmp/before.ini /etc/softquota/app.ini
    cat softquota-trusted.socket.d/worker.conf softquota-worker.service.d/user.conf`;
  const units = await sandbox.must('sh', ['-ec', withWorker, 'sh', process.execPath, launcher]);
  t.match(units, /user\.conf is kept: the worker needs there \[Service\] User=versions\n/);
  t.match(
    units,
    / && systemctl restart softquota-trusted\.socket softquota && .*\nWritten for it: .*\/worker\.conf\.\n/,
  );
  t.notMatch(units, /Written for it: .*user\.conf/);
  t.match(units, /\[Socket\]\nSocketGroup=git-server\nSocketMode=0660\n\[Service\]\nUser=mine$/);

  const made = ['/etc/softquota', '/run/softquota', '/var/lib/softquota', '/var/lib/softquota/softquota.db'];
  t.equal(
    await sandbox.must('stat', ['-c', '%U %a', ...made]),
    'root 755\nsoftquota 755\nsoftquota 700\nsoftquota 600',
  );
});
