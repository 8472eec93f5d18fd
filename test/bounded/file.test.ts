/** Files of other people: what is there, never waited for, and never more than a bound. */

import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { readBounded } from '../../src/bounded/index.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const source = new URL('../../src/', import.meta.url);

const mebibyte = 1024 * 1024;

t.test('a regular file is read up to the bound', async t => {
  const file = join(t.testdir(), 'file');
  for (const [size, length, whole] of [
    [0, 0, true],
    [70_000, 70_000, true],
    [mebibyte, mebibyte, true],
    [mebibyte + 1, mebibyte, false],
  ] as const) {
    writeFileSync(file, Buffer.alloc(size, 'x'));
    const read = readBounded(file);
    t.match(read, { kind: 'file', whole, stats: { size } });
    t.equal(read.kind === 'file' && read.bytes.length, length);
  }
  t.match(readBounded(file, { mostBytes: 3 }), { kind: 'file', bytes: Buffer.from('xxx'), whole: false });
});

t.test('a pipe, a device, a socket, a link and a directory are told, and not opened', async t => {
  const folder = temporaryFolder(t);
  const at = (name: string): string => join(folder, name);
  execFileSync('mkfifo', [at('pipe')]);
  execFileSync('mknod', [at('device'), 'c', '1', '7']);
  mkdirSync(at('directory'));
  writeFileSync(at('file'), 'text');
  symlinkSync('file', at('link'));
  symlinkSync('pipe', at('link-to-pipe'));
  symlinkSync('circle', at('circle'));
  const server = createServer().listen(at('socket'));
  t.teardown(() => server.close());
  const kinds = (follow: boolean) =>
    Object.fromEntries(
      [...readdirSync(folder), 'nothing', 'file/below'].map(name => [
        name,
        readBounded(at(name), { follow }).kind,
      ]),
    );
  const same = {
    pipe: 'special',
    device: 'special',
    socket: 'special',
    directory: 'directory',
    file: 'file',
    nothing: 'absent',
    'file/below': 'absent',
    circle: 'link',
  };
  t.same(kinds(false), { ...same, link: 'link', 'link-to-pipe': 'link' });
  t.same(kinds(true), { ...same, link: 'file', 'link-to-pipe': 'special' });
  t.ok(statSync('/proc/self/mem').isFile(), 'what throws when it is read:');
  t.throws(() => readBounded('/proc/self/mem'), { code: 'EIO' });
});

t.test('nothing else in src/ reads an untrusted file, or runs a program without a time', async t => {
  /** The files that do, and why they may. */
  const allowed: Readonly<Record<string, string>> = {
    'api/web.ts': 'the web UI of this package',
    'bounded/file.ts': 'this module',
    'bounded/program.ts': 'this module',
    'commands/init-work.ts': 'directories',
    'commands/files.ts': 'the file that whoever runs the command names, or standard input',
    'commands/job.ts': 'the process that does the work, which is left behind when a disk hangs',
    'commands/receive-pack.ts': 'git, for as long as the push takes',
    'daemon/data-path.ts': "the daemon's own, in DATA_PATH",
    'doctor/impersonator.ts': 'standard input',
    'draft.ts': 'a new file, and directories',
    'gate/refusals.ts': 'writes a new file',
    'git/hooks/folder.ts': 'directories, and new files',
    'git/hooks/hook.ts': 'the hooks of this package',
    'layout/mounts.ts': '/proc, and stat(1), which is killed after a time',
    'commands/playground-world.ts': "the playground's own programs and their logs, and /proc",
    'scan/file-system.ts': 'stat(1) with a time-out, on a thread that may wait',
    'scan/walk.ts': 'directories',
    'service/connections.ts': '/proc and /dev/null',
    'service/listen.ts': '/proc',
    'store/sqlite/database.ts': "the daemon's own, in DATA_PATH",
    'accounts.ts': '/etc/passwd and /etc/group',
    'version.ts': "this package's own",
    'git/worker/quarantines/processes.ts': '/proc',
    'git/worker/quarantines/quarantines.ts': 'directories',
    'git/worker/space/view.ts': 'new files',
  };
  const imports = /^import (?:type )?\{([^}]*)\} from 'node:(fs|fs\/promises|child_process)';/gm;
  const readers = /\b(?:readFile|readFileSync|open|openSync|createReadStream)\b/;
  const found = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(name => {
    if (!name.endsWith('.ts')) return false;
    const taken = [...readFileSync(new URL(name, source), 'utf8').matchAll(imports)];
    return taken.some(([, names = '', from]) => from === 'child_process' || readers.test(names));
  });
  t.strictSame(found.sort(), Object.keys(allowed).sort());
});
