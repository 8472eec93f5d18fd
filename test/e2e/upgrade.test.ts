/** A server of release 0.1 whose data this version takes over, by what its administrator sees afterwards. */

import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import t, { type Test } from 'tap';
import { Clone } from './clone.ts';
import { counted } from './count.ts';
import { Server } from './server.ts';

const release = new URL('../store/release-0.1/', import.meta.url);
/** Placeholder of the folder in which release 0.1 ran. */
const placeholder = '@FOLDER@';
const repositories = ['alice/app', 'alice/site', 'bob/tool', 'club/shared'];

const inHex = (text: string) => Buffer.from(text).toString('hex').toUpperCase();

/** Puts the data that release 0.1 left into a server's folder, in which nothing has run. */
async function withOldData(t: Test): Promise<Server> {
  const server = await Server.open(t, {
    ini: { quota: { DEFAULT_GROUPS: 'everybody' }, requests: { ENABLED: 'true' }, events: { KEEP: '3650d' } },
    started: false,
  });
  for (const name of repositories) await server.repository(name);
  const dump = await readFile(new URL('softquota.sql', release), 'utf8');
  const file = join(server.folder, 'data/softquota.db');
  const store = new DatabaseSync(file);
  store.exec(
    dump
      .replaceAll(new RegExp(inHex(placeholder), 'gi'), inHex(server.folder))
      .replaceAll(placeholder, server.folder),
  );
  store.close();
  for (const name of ['secret.key', 'host.id'])
    await writeFile(join(server.folder, 'data', name), await readFile(new URL(name, release)));
  for (const name of ['secret.key', 'softquota.db']) await chmod(join(server.folder, 'data', name), 0o600);
  return server;
}

t.test('what release 0.1 stored is in force after the upgrade', async t => {
  const server = await withOldData(t);
  const daemon = await server.start();

  await t.test('owners, members, groups and limits', async t => {
    t.match(await server.done('user show alice'), /alice/);
    t.match(await server.done('member list lab'), /^alice +member/m);
    const policy = JSON.parse(await server.done('policy export'));
    t.strictSame(
      policy.groups.map(({ name, rules, users }: { name: string; rules: string[]; users: string[] }) => [
        name,
        rules,
        users,
      ]),
      [
        ['everybody', ['everything'], []],
        ['small', ['shared-rule', 'report-rule'], ['alice']],
        ['trial', ['tried-alone', 'shared-rule (trial)'], ['bob', 'club']],
      ],
    );
    const shared = policy.rules.find(({ name }: { name: string }) => name === 'shared-rule');
    t.match(shared, { limit: 15_000, subjects: ['size:git:all'], grace: 2_592_000, grace_most: '10 %' });
    t.notHas(shared, { mode: 'report' });
  });

  await t.test('a group that only reported refuses nobody, which the log and an event tell', async t => {
    const { rules } = JSON.parse(await server.done('policy export'));
    const reported = rules.filter(({ mode }: { mode?: string }) => mode === 'report');
    t.strictSame(
      reported.map(({ name }: { name: string }) => name),
      ['tried-alone', 'report-rule', 'shared-rule (trial)'],
    );
    t.match((await daemon.logged(/^groups have no report mode any more/)).groups, [{ group: 'trial' }]);
    t.match(await server.done('events'), /created rule shared-rule \(trial\), by softquota/);
    t.match(await server.done('explain bob'), /allowed[\s\S]*With the rules in report mode: refused/);
  });

  await t.test('requests, allowances, tokens and events', async t => {
    t.match(
      await server.done('request list'),
      /^\w+ +bob .* 5 GB +2035-12-24 12:00:00 +open +large test data$/m,
    );
    t.match(
      await server.done('allowance list alice'),
      /^0a10408ac7 +2 kB +2035-01-01 .* until the release$/m,
    );
    t.match(await server.done('token list --user alice'), /laptop/);
    t.match(
      await server.done('events --limit 100'),
      /alice +reached the limit: 87\.8 kB of 15 kB, rule shared-rule of group small/,
    );
  });

  await t.test('usage is that of the disk after the first walk', async t => {
    t.equal((await server.scan()).state, 'done');
    for (const name of repositories.filter(each => !each.startsWith('alice')))
      t.equal(await server.usage(name.split('/')[0] ?? ''), await counted(server.path(name)), name);
  });

  await t.test('who is over the limit is refused as before, and who is not may push', async t => {
    await server.installHooks();
    const push = async (name: string, bytes: number) => {
      const clone = await Clone.of(server, server.path(name));
      await clone.commit(bytes);
      return clone.push();
    };
    await server.reports('alice', 30_000);
    t.match(await push('alice/site', 10), {
      said: /alice's repositories and LFS objects use [\s\S]*Decided by rule "shared-rule"/,
    });
    t.equal((await push('bob/tool', 10)).code, 0);
  });

  await t.test('the store is whole, and of this version', async t => {
    await server.stop();
    const store = new DatabaseSync(join(server.folder, 'data/softquota.db'), { readOnly: true });
    t.ok(Number(store.prepare('PRAGMA user_version').get()?.user_version) > 8);
    t.equal(store.prepare('PRAGMA integrity_check').get()?.integrity_check, 'ok');
    store.close();
  });
});
