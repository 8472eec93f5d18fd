/** A server that loses its DATA_PATH, and gets back what no walk would find again. */

import { chmod, chown, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { z } from 'zod';
import { account, addressOf, statusWith } from './accounts.ts';
import { until } from './ask.ts';
import { Server } from './server.ts';

const nobody = 65534;

const backup = z.looseObject({ graces: z.array(z.unknown()).default([]) });

/**
 * Resolves once the graces of so many owners are on record. Until then each answer is as if one began at that
 * moment.
 */
async function graceBegun(server: Server, owners: number): Promise<void> {
  await until(async () => {
    const { stdout } = await server.softquota('backup -');
    return backup.parse(JSON.parse(stdout)).graces.length >= owners ? true : null;
  });
}

t.test('after a lost DATA_PATH a restore gives the same usage, decisions and tokens', async t => {
  const server = await Server.open(t, {
    ini: { quota: { ENABLED: 'true', GRACE: '7d', GRACE_MOST: '600k' } },
    repositories: ['Alice/app', 'bob/app'],
  });
  await writeFile(join(server.path('Alice/app'), 'objects/pack/big'), 'x'.repeat(1_500_000));
  await server.reports('carol', 3_000_000);
  await server.done('rule create lfs --limit 5M --subject size:git:lfs');
  await server.done('group create free --rule lfs');
  await server.done('group add-user free bob');
  const token = await account(server, 'root', { isAdmin: true });
  const revoked = await account(server, 'dave');
  const [{ id }] = await server.json('token list --user dave');
  await server.done(`token revoke ${id} --user dave`);
  await server.scan();
  await graceBegun(server, 2);
  const everybody = ['Alice', 'bob', 'carol'];
  const all = async () => ({
    usage: await Promise.all(everybody.map(owner => server.usageByLeaf(owner))),
    policy: await server.done('policy export'),
    letIn: await Promise.all([token, revoked].map(each => statusWith(server, each, '/admin/quota/rules'))),
    checks: await Promise.all(
      everybody.map(async owner => (await server.softquota(['check', owner])).stdout),
    ),
  });
  const before = await all();
  t.strictSame(before.letIn, [200, 401]);
  t.match(before.checks, [/Refusals begin on \d{4}-/, /allowed/i, /refused/i]);

  const file = join(server.folder, 'saved.json');
  const data = join(server.folder, 'data');
  const taken = await server.softquota(['backup', file]);
  t.match(taken, {
    code: 0,
    stdout: '',
    stderr: /^Saved 5 owners, [1-9]\d* records of policy, 1 reported unit and [1-9]\d* events/,
  });
  t.ok(
    taken.stderr.includes(`Save these files, too: ${server.config}, ${data}/host.id, ${data}/secret.key`),
    taken.stderr,
  );
  t.equal((await stat(file)).mode & 0o777, 0o600);
  const text = await readFile(file, 'utf8');
  t.equal((await server.softquota('backup -')).stdout.slice(0, 30), text.slice(0, 30));
  const key = join(server.folder, 'the key');
  await writeFile(key, 'k'.repeat(40));
  const withKey = { SOFTQUOTA__SECURITY__SECRET_KEY__FILE: key };
  t.match(await server.softquota('backup -', { env: withKey }), { code: 0, stderr: `, ${key}, ` });
  const elsewhere = { SOFTQUOTA_URL: await addressOf(server), SOFTQUOTA_TOKEN: token, SOFTQUOTA_CONFIG: '' };
  t.match(await server.softquota('backup -', { env: elsewhere, cwd: '/' }), {
    code: 0,
    stderr: /^Saved .*\n$/,
  });

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
    stdout: /^Restored 5 owners, [1-9]\d* records of policy, 1 reported unit and [1-9]\d* events/,
  });
  for (const name of await readdir(data)) {
    t.equal((await stat(join(data, name))).uid, nobody, `${name} is the daemon's own user's`);
  }
  t.match(await server.softquota('restore -', { input: text }), { code: 1, stderr: /--replace/ });
  await chown(data, 0, 0);
  await server.start();
  await server.scan();
  t.strictSame(await all(), before, 'to the second at which the grace ends');
});
