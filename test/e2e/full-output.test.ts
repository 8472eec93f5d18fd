/** Output that cannot be written, as on a full disk: no command passes it off as done. */

import { readFileSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { mountSmall } from '../faults/small-disk.ts';
import { startSingle } from '../store/redis-servers.ts';
import { until } from './ask.ts';
import { commandLines, leafCommands, oneWebhook } from './command-lines.ts';
import { wordsOf } from './commands.ts';
import { launcher } from './daemon.ts';
import { fleetHost } from './fleet-hosts.ts';
import { must, type Run, run } from './run.ts';
import { Server } from './server.ts';

t.setTimeout(600_000);

/** Runs a command line with redirections as a shell has them. */
function redirected(server: Server, redirections: string, args: readonly string[]): Promise<Run> {
  return run('sh', ['-c', `exec "$@" ${redirections}`, 'sh', process.execPath, launcher, ...args], {
    env: { SOFTQUOTA_CONFIG: server.config },
  });
}

t.test('every command that prints ends with 74 where standard output is full', async t => {
  const { address, servers } = await startSingle(t);
  const one = await fleetHost(t, { address, host: 'one', repositories: ['alice/app'], ini: oneWebhook });
  const two = await fleetHost(t, { address, host: 'two' });
  const apart = await Server.open(t, { started: false });
  const before: Readonly<Record<string, () => Promise<unknown>>> = {
    'token revoke': () => one.done('token create --user bob --name kept'),
    'host forget': () => two.stop(),
    'store repair': async () => {
      await servers[0].cli('flushall');
      await until(async () => (/has no policy/.test(await one.reasons()) ? true : null));
    },
    restore: () => one.done(`backup ${one.folder}/saved.json`),
  };
  const lines = await commandLines(one);
  for (const command of (await leafCommands()).keys()) {
    // One becomes git, and the other only logs.
    if (command === 'receive-pack' || command === 'worker') continue;
    t.ok(
      lines.some(line => `${line} `.startsWith(`${command} `)),
      `${command} is run below`,
    );
  }
  for (const line of lines) {
    const [, prepare] = Object.entries(before).find(([command]) => line.startsWith(command)) ?? [];
    await prepare?.();
    const on = line.startsWith('restore') ? apart : one;
    const { code, stderr } = await redirected(on, '>/dev/full', wordsOf(line));
    t.equal(code, 74, `${line}: ${stderr}`);
    t.match(stderr, /softquota: standard output cannot be written: no space left on device \(ENOSPC\)/, line);
    t.notMatch(stderr, /Saved|mistake/, line);
  }
  const tokens = await one.softquota('token list --user bob --json');
  t.notMatch(tokens.stdout, /lost/, 'a token that nobody has seen is revoked');
});

t.test('a backup of which the disk took a part is not called saved', async t => {
  const server = await Server.open(t);
  const small = join(server.folder, 'small');
  await mkdir(small);
  await mountSmall(t, small, '1m');
  // More than a page, so that a part of it finds room.
  for (let n = 0; n < 40; n += 1) {
    const body = { username: `${n}`.padStart(250, 'u') };
    t.equal((await server.ask('admin', '/api/v1/admin/users', { body })).status, 201);
  }
  const ballast = Buffer.alloc(1024 * 1024 - 2 * 4096);
  await writeFile(join(small, 'ballast'), ballast);
  const saved = join(small, 'saved.json');
  for (const args of [
    ['backup', '-'],
    ['usage', '--json'],
    ['user', 'list', '--json'],
  ]) {
    const { code, stderr } = await redirected(server, `>'${saved}'`, args);
    const { size } = await stat(saved);
    t.ok(size > 0 && size < 10_000, `${size} bytes of it were written`);
    t.equal(code, 74, args.join(' '));
    t.equal(stderr, 'softquota: standard output cannot be written: no space left on device (ENOSPC)\n');
  }
});

t.test('a reader that goes away is told nothing, unless what is lost cannot be had again', async t => {
  const server = await Server.open(t, { repositories: ['alice/app'] });
  // Closed for reading before the command begins.
  const gone = async (args: readonly string[]): Promise<{ code: string; stderr: string }> => {
    const script = '{ read -r go; "$@"; echo $? >&3; } 3>&4 <"$fifo" | { exec <&-; echo go >"$fifo"; }';
    const fifo = join(server.folder, 'go');
    await must('mkfifo', [fifo]);
    const { stdout, stderr } = await run(
      'sh',
      ['-c', `exec 4>&1; ${script}`, 'sh', process.execPath, launcher, ...args],
      { env: { SOFTQUOTA_CONFIG: server.config, fifo } },
    );
    await rm(fifo);
    return { code: stdout.trim(), stderr };
  };
  t.strictSame(await gone(['usage']), { code: '0', stderr: '' });
  const lost = await gone(['token', 'create', '--user', 'alice', '--name', 'lost']);
  t.equal(lost.code, '74');
  t.match(lost.stderr, /the token could not be printed, and was revoked/);
  t.notMatch((await server.softquota(['token', 'list', '--user', 'alice'])).stdout, /lost/);
  const backup = await gone(['backup', '-']);
  t.equal(backup.code, '74');
  t.notMatch(backup.stderr, /Saved/);
});

t.test('where standard error is full a command does what it should, and says 74', async t => {
  const server = await Server.open(t);
  const file = join(server.folder, 'saved.json');
  t.match(await redirected(server, '2>/dev/full', ['backup', file]), { code: 74 });
  t.ok((await readFile(file, 'utf8')).endsWith('}\n'));
  t.match(await redirected(server, '2>/dev/full', ['nonsense']), { code: 2 });
  t.match(await redirected(server, '2>/dev/full', ['scan']), { code: 0, stdout: /^Measured/ });
});

t.test('a file that cannot be read or written is 74', async t => {
  const server = await Server.open(t, { repositories: ['alice/app'] });
  const nowhere = join(server.folder, 'no/such/place');
  for (const args of [
    ['backup', nowhere],
    ['policy', 'export', nowhere],
    ['policy', 'import', nowhere],
    ['policy', 'lint', nowhere],
    ['auth', 'sync', 'company', nowhere],
    ['init', join(server.folder, 'git'), '--config', nowhere],
  ]) {
    const { code, stderr } = await server.softquota(args);
    t.equal(code, 74, args.join(' '));
    t.match(stderr, /no\/such.*ENOENT/);
  }
});

t.test('nothing but commands/streams.ts writes to standard output or standard error', async t => {
  const source = new URL('../../src/', import.meta.url);
  // The impersonator is a program of its own, whose output doctor reads.
  const own = ['commands/streams.ts', 'doctor/impersonator.ts'];
  const files = (await readdir(source, { recursive: true })).filter(name => name.endsWith('.ts'));
  const writing = files.filter(name => {
    const text = readFileSync(new URL(name, source), 'utf8');
    return !own.includes(name) && /process\.std(out|err)\.write|\bconsole\./.test(text);
  });
  t.strictSame(writing, []);
});
