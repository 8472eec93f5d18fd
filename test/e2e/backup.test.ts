/** A server that loses its DATA_PATH, and gets back what no walk would find again. */

import { chmod, chown, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { launcher } from './daemon.ts';
import { type Run, type RunOptions, run } from './run.ts';
import { Server } from './server.ts';

t.setTimeout(120_000);

const nobody = 65534;

/** Not by way of `softquota()`: what tap puts into a process of Node's cannot bear that it changes its user. */
function untapped(server: Server, args: readonly string[], options: RunOptions = {}): Promise<Run> {
  const command = ['-u', 'NODE_OPTIONS', process.execPath, launcher, ...args];
  return run('env', command, { ...options, env: { SOFTQUOTA_CONFIG: server.config } });
}

t.test('after a lost DATA_PATH a restore gives the same usage and decisions, once measured', async t => {
  const server = await Server.open(t, { repositories: ['Alice/app', 'bob/app'] });
  await writeFile(join(server.path('Alice/app'), 'objects/pack/big'), 'x'.repeat(1_500_000));
  const report = { owner: 'carol', subject: 'size:git:lfs', unit: 'store', bytes: 3_000_000 };
  t.equal((await server.ask('trusted', '/v1/units', { body: report })).status, 200);
  await server.scan();
  const everybody = ['Alice', 'bob', 'carol'];
  const all = async () => ({
    usage: await Promise.all(everybody.map(owner => server.usageByLeaf(owner))),
    checks: await Promise.all(
      everybody.map(async owner => (await server.softquota(['check', owner])).stdout),
    ),
  });
  const before = await all();
  t.match(before.checks, [/refused/i, /allowed/i, /refused/i]);

  const file = join(server.folder, 'saved.json');
  const data = join(server.folder, 'data');
  const taken = await server.softquota(['backup', file]);
  t.match(taken, { code: 0, stdout: '', stderr: 'Saved 3 owners, 0 records of policy and 1 reported units' });
  t.ok(taken.stderr.includes(`Save beside it: ${server.config}, ${data}/host.id`), taken.stderr);
  t.equal((await stat(file)).mode & 0o777, 0o600);
  const text = await readFile(file, 'utf8');
  t.equal((await server.softquota(['backup', '-'])).stdout.slice(0, 30), text.slice(0, 30));

  t.match(await server.softquota(['restore', file, '--replace']), {
    code: 78,
    stderr: /softquota\.db is in use by another softquota daemon/,
  });
  await server.stop();
  await rm(data, { recursive: true });
  await chmod(server.folder, 0o755);
  await mkdir(data, { mode: 0o700 });
  await chown(data, nobody, nobody);
  t.match(await server.softquota(['restore', file]), {
    code: 0,
    stdout: /^Restored 3 owners, 0 records of policy and 1 reported units/,
  });
  for (const name of await readdir(data)) {
    t.equal((await stat(join(data, name))).uid, nobody, `${name} is the daemon's own user's`);
  }
  t.match(await untapped(server, ['restore', '-'], { input: text }), { code: 2, stderr: /--replace/ });
  await chown(data, 0, 0);
  await server.start();
  t.strictSame(await all(), before);
});

t.test('a backup that cannot be written or read leaves what was there, and says why', async t => {
  const server = await Server.open(t);
  const file = join(server.folder, 'saved.json');
  await writeFile(file, 'an older one');
  t.match(await server.softquota(['backup', join(server.folder, 'no/such/place')]), {
    code: 2,
    stderr: /no\/such\/.*ENOENT/,
  });
  t.equal(await readFile(file, 'utf8'), 'an older one');
  await server.stop();
  t.match(await server.softquota(['backup', file]), { code: 69 });
  t.match(await server.softquota(['restore', file]), { code: 2, stderr: /saved\.json: not a whole backup/ });
  t.match(await server.softquota(['restore', join(server.folder, 'none')]), { code: 2, stderr: /ENOENT/ });
  t.equal(await readFile(file, 'utf8'), 'an older one');
});
