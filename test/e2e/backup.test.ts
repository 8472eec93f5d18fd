/** A server that loses its DATA_PATH, and gets back what no walk would find again. */

import { chmod, chown, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { mountSmall } from '../faults/small-disk.ts';
import type { Question } from './ask.ts';
import { graceBegun } from './graces.ts';
import { Server } from './server.ts';
import { statusWith } from './token-status.ts';

t.setTimeout(120_000);

const nobody = 65534;

t.test('after a lost DATA_PATH a restore gives the same usage and decisions, once measured', async t => {
  const server = await Server.open(t, {
    ini: { quota: { ENABLED: 'true', GRACE: '7d', GRACE_MOST: '600k' } },
    repositories: ['Alice/app', 'bob/app'],
  });
  await writeFile(join(server.path('Alice/app'), 'objects/pack/big'), 'x'.repeat(1_500_000));
  const report = { owner: 'carol', subject: 'size:git:lfs', unit: 'store', bytes: 3_000_000 };
  t.equal((await server.ask('trusted', '/v1/units', { body: report })).status, 200);
  await server.scan();
  await graceBegun(server, 2);
  const everybody = ['Alice', 'bob', 'carol'];
  const all = async () => ({
    usage: await Promise.all(everybody.map(owner => server.usageByLeaf(owner))),
    checks: await Promise.all(
      everybody.map(async owner => (await server.softquota(`check ${owner}`)).stdout),
    ),
  });
  const before = await all();
  t.match(before.checks, [/Refusals begin on \d{4}-/, /allowed/i, /refused/i]);

  const file = join(server.folder, 'saved.json');
  const data = join(server.folder, 'data');
  const taken = await server.softquota(`backup ${file}`);
  t.match(taken, {
    code: 0,
    stdout: '',
    stderr: /^Saved 3 owners, 0 records of policy, 1 reported unit and [1-9]\d* events/,
  });
  t.ok(
    taken.stderr.includes(`Save these files, too: ${server.config}, ${data}/host.id, ${data}/secret.key`),
    taken.stderr,
  );
  t.equal((await stat(file)).mode & 0o777, 0o600);
  const text = await readFile(file, 'utf8');
  t.equal((await server.softquota('backup -')).stdout.slice(0, 30), text.slice(0, 30));

  t.match(await server.softquota(`restore ${file} --replace`), {
    code: 78,
    stderr: /softquota\.db is in use by another softquota daemon/,
  });
  await server.stop();
  await rm(data, { recursive: true });
  await chmod(server.folder, 0o755);
  await mkdir(data, { mode: 0o700 });
  await chown(data, nobody, nobody);
  t.match(await server.softquota(`restore ${file}`), {
    code: 0,
    stdout: /^Restored 3 owners, 0 records of policy, 1 reported unit and [1-9]\d* events/,
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

t.test(
  'a backup carries what administrators rule, and who may ask: same decisions, and the same tokens',
  async t => {
    const server = await Server.open(t, { ini: { 'quota.default': { TOTAL: '-1' } } });
    const admin = async (path: string, question: Question = {}) => {
      const { status, text } = await server.ask('admin', `/api/v1${path}`, question);
      if (status >= 300) throw new Error(`${path}: ${status} ${text}`);
      return text === '' ? null : JSON.parse(text);
    };
    const report = async (owner: string, bytes: number) => {
      const body = { owner, subject: 'size:git:lfs', unit: 'store', bytes };
      t.equal((await server.ask('trusted', '/v1/units', { body })).status, 200);
    };
    const accounts = [
      { username: 'Alice', email: 'alice@git.example', full_name: 'Alice A.', is_admin: true },
      { username: 'bob' },
      { username: 'acme', type: 'organization' },
    ];
    for (const body of accounts) await admin('/admin/users', { body });
    await report('Alice', 700);
    await report('bob', 700);
    await report('acme', 3_000_000);
    const lfs = { name: 'lfs', limit: 500, subjects: ['size:git:lfs'] };
    const total = { name: 'everything / together', limit: 1_000_000, subjects: ['size:all'] };
    await admin('/admin/quota/groups', { body: { name: 'free', rules: [lfs, total] } });
    await admin('/admin/quota/groups', {
      body: { name: 'large', rules: [{ ...total, name: 'more', limit: 5e6 }] },
    });
    await admin('/admin/quota/groups', { body: { name: 'empty' } });
    await admin('/admin/quota/rules', { body: { name: 'loose', limit: -1, subjects: [] } });
    await admin('/admin/users/bob/quota/groups', { body: { groups: ['free'] } });
    await admin('/admin/users/acme/quota/groups', { body: { groups: ['large', 'empty'] } });
    await admin('/admin/orgs/acme/members/bob', { method: 'PUT', body: { role: 'owner' } });
    await admin('/admin/orgs/acme/members/Alice', { method: 'PUT', body: { role: 'member' } });
    const tokenOf = async (user: string, name: string, scopes: readonly string[]): Promise<string> =>
      (await admin(`/users/${user}/tokens`, { body: { name, scopes, expires_at: '2999-01-31T00:00:00Z' } }))
        .sha1;
    const tokens = {
      alice: await tokenOf('Alice', 'everything', ['all']),
      bob: await tokenOf('bob', 'organizations', ['read:organization']),
      revoked: await tokenOf('bob', 'revoked', ['all']),
    };
    await admin('/users/bob/tokens/revoked', { method: 'DELETE' });

    const told = async () => {
      const owners = ['Alice', 'bob', 'acme', 'somebody'];
      return {
        rules: await admin('/admin/quota/rules'),
        groups: await admin('/admin/quota/groups'),
        users: await admin('/admin/users'),
        members: await admin('/admin/orgs/acme/members'),
        inGroups: await Promise.all(
          ['free', 'large', 'empty'].map(group => admin(`/admin/quota/groups/${group}/users`)),
        ),
        decisions: await Promise.all(
          owners.map(async owner => (await admin(`/admin/quota/usage/${owner}`)).decisions),
        ),
        tokens: await Promise.all(['Alice', 'bob'].map(user => admin(`/users/${user}/tokens`))),
      };
    };
    const letIn = async () => ({
      alice: await statusWith(server, tokens.alice, '/admin/quota/rules'),
      bobForAcme: await statusWith(server, tokens.bob, '/orgs/acme/quota'),
      bobForRules: await statusWith(server, tokens.bob, '/admin/quota/rules'),
      revoked: await statusWith(server, tokens.revoked, '/user/quota'),
    });
    const before = await told();
    t.match(before.decisions, [
      { 'size:git:lfs': { allowed: true, limit: -1, group: null } },
      { 'size:git:lfs': { allowed: false, used: 700, limit: 500, group: 'free', rule: 'lfs' } },
      { 'size:git:lfs': { allowed: true, used: 3_000_000, limit: 5e6, group: 'large', rule: 'more' } },
      { 'size:git:lfs': { allowed: true, limit: -1, group: null } },
    ]);

    const file = join(server.folder, 'saved.json');
    t.match(await server.softquota(`backup ${file}`), {
      code: 0,
      stderr: /^Saved 3 owners, 15 records of policy, 3 /,
    });
    const saved = await readFile(file, 'utf8');
    for (const token of Object.values(tokens))
      t.notOk(saved.includes(token), 'of a token there is only the hash');
    t.strictSame(await letIn(), { alice: 200, bobForAcme: 200, bobForRules: 403, revoked: 401 });
    await admin('/admin/quota/rules/lfs', { method: 'PATCH', body: { limit: -1 } });
    await server.stop();
    await rm(join(server.folder, 'data'), { recursive: true });
    await mkdir(join(server.folder, 'data'));
    t.match(await server.softquota(`restore ${file}`), {
      code: 0,
      stdout: /^Restored 3 owners, 15 records of policy/,
    });
    await server.start();
    t.strictSame(await told(), before);
    t.strictSame(await letIn(), { alice: 200, bobForAcme: 200, bobForRules: 403, revoked: 401 });

    await admin('/admin/quota/groups/free/users/Alice', { method: 'PUT' });
    await admin('/admin/quota/groups', { body: { name: 'new' } });
    t.strictSame(
      (await admin('/admin/quota/groups/free/users')).map(({ login }: { login: string }) => login),
      ['bob', 'Alice'],
      'and it goes on from there',
    );
  },
);

t.test('a backup onto a full disk leaves the older one', async t => {
  const server = await Server.open(t);
  const small = join(server.folder, 'small');
  await mkdir(small);
  await mountSmall(t, small, '64k');
  const file = join(small, 'saved.json');
  await writeFile(file, 'an older one');
  for (let n = 0; n < 150; n++) {
    const body = { username: `${n}`.padStart(250, 'u') };
    const { status, text } = await server.ask('admin', '/api/v1/admin/users', { body });
    if (status !== 201) throw new Error(text);
  }
  t.match(await server.softquota(`backup ${file}`), { stderr: /saved\.json: ENOSPC/ });
  t.equal(await readFile(file, 'utf8'), 'an older one');
  t.strictSame(await readdir(small), ['saved.json']);
});

t.test('a backup that cannot be written or read leaves what was there, and says why', async t => {
  const server = await Server.open(t);
  const file = join(server.folder, 'saved.json');
  await writeFile(file, 'an older one');
  t.match(await server.softquota(`backup ${server.folder}/no/such/place`), {
    code: 74,
    stderr: /no\/such\/.*ENOENT/,
  });
  t.equal(await readFile(file, 'utf8'), 'an older one');
  await server.stop();
  t.match(await server.softquota(`backup ${file}`), { code: 69 });
  t.match(await server.softquota(`restore ${file}`), {
    code: 2,
    stderr: /saved\.json: not a complete backup/,
  });
  t.match(await server.softquota(`restore ${server.folder}/none`), { code: 74, stderr: /ENOENT/ });
  t.equal(await readFile(file, 'utf8'), 'an older one');
});

t.test('a group in report mode, as an earlier version had it, does not come into force', async t => {
  const server = await Server.open(t, { ini: { quota: { ENABLED: 'true' } } });
  const report = { owner: 'alice', subject: 'size:git:lfs', unit: 'store', bytes: 5 };
  t.equal((await server.ask('trusted', '/v1/units', { body: report })).status, 200);
  await server.done('rule create total --limit 1 --subject size:all');
  await server.done('group create held --rule total');
  await server.done('group add-user held alice');
  const file = join(server.folder, 'saved.json');
  await server.done(`backup ${file}`);
  const saved = JSON.parse(await readFile(file, 'utf8'));
  for (const record of saved.policy) {
    if (record.kind === 'group') record.text = JSON.stringify({ ...JSON.parse(record.text), mode: 'report' });
  }
  await writeFile(file, JSON.stringify(saved));
  await server.stop();
  await server.done(`restore ${file} --replace`);
  await server.start();
  t.match(await server.softquota('check alice --subject size:git:lfs'), {
    code: 0,
    stdout: /^allowed \(would be refused\)/,
  });
  t.match((await server.softquota('rule show total')).stdout, /only reported/);
  t.match(server.daemon.log, /groups have no report mode any more: their rules are in report mode now/);
});
