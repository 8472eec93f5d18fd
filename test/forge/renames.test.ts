/** Owners who rename themselves and store on at once: they stay who they were, with their limits. */

import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { until } from '../e2e/ask.ts';
import { Clone } from '../e2e/clone.ts';
import { must } from '../e2e/run.ts';
import { Server } from '../e2e/server.ts';
import { writeSqlite } from './fixture.ts';
import { namedStorages } from './storages.ts';

t.setTimeout(600_000);

/** `settings`: of the forge's own app.ini, beside where its database is. */
async function open(t: Test, settings = '') {
  const server = await Server.open(t, { started: false });
  const root = join(server.folder, 'repositories');
  const database = join(server.folder, 'gitea.db');
  const sql = writeSqlite(database);
  const ini = `[database]\nDB_TYPE = sqlite3\nPATH = ${database}\n${settings}\n`;
  await writeFile(join(server.folder, 'forge.ini'), ini);
  for (const owner of ['alice', 'eve']) {
    await mkdir(join(root, owner), { recursive: true });
    await must('git', ['init', '-q', '--bare', join(root, owner, 'app.git')]);
  }
  await server.configure({
    forge: { KIND: 'gitea', CONFIG: join(server.folder, 'forge.ini') },
    ...namedStorages(root),
    quota: { ENABLED: 'true' },
    'quota.default': { TOTAL: '1G' },
    gate: { PRESET: 'gitea' },
  });
  await server.start();
  await server.done(['hooks', 'install', root]);
  await until(async () => ((await server.usageByLeaf('acme'))['size:git:lfs'] === undefined ? null : true));
  await server.done('rule create little --limit 1k --subject size:all');
  await server.done('group create small');
  await server.done('group add-rule small little');
  for (const owner of ['alice', 'acme']) await server.done(`group add-user small ${owner}`);
  /** Renames as Gitea does: directory and rows, before anybody can use the new name. */
  const renamed = async (from: string, to: string) => {
    if (from !== 'acme') await rename(join(root, from), join(root, to));
    sql(`BEGIN IMMEDIATE;
      UPDATE user SET name = '${to}', lower_name = '${to}' WHERE lower_name = '${from}';
      UPDATE repository SET owner_name = '${to}' WHERE owner_name = '${from}'; COMMIT`);
  };
  /** Gives a repository to another owner as Gitea does. */
  const transferred = async (from: string, to: string) => {
    const [before, after] = [from, to].map(path => path.split('/')[0] ?? '');
    await mkdir(join(root, `${after}`), { recursive: true });
    await rename(join(root, `${from}.git`), join(root, `${to}.git`));
    sql(`UPDATE repository SET owner_name = '${after}',
      owner_id = (SELECT id FROM user WHERE lower_name = '${after}') WHERE owner_name = '${before}'`);
  };
  return { server, root, renamed, transferred };
}

/** Asks about an upload to a package of this owner, as a proxy does. */
function upload(server: Server, owner: string) {
  const headers = { 'X-Original-URI': `/api/packages/${owner}/generic/a/1/file`, 'X-Original-Method': 'PUT' };
  return server.ask('gate', '/v1/forward-auth', { headers });
}

t.test('of 50 renames, each followed by a push at once, none lets a push over the limit pass', async t => {
  const { server, root, renamed } = await open(t);
  const clone = await Clone.of(server, join(root, 'alice/app.git'));
  await clone.commit(10_000);
  t.match(await clone.push(), { code: 1, said: /Quota exceeded: alice uses/ });
  let name = 'alice';
  const passed: string[] = [];
  const renameAndPush = async (to: string) => {
    await renamed(name, to);
    name = to;
    await clone.commit(100);
    await clone.git('remote', 'set-url', 'origin', join(root, to, 'app.git'));
    const { code, said } = await clone.push();
    if (code !== 1 || !said.includes(`Quota exceeded: ${to} uses`)) passed.push(`${to}: ${code} ${said}`);
  };
  for (let at = 0; at < 49; at++) await renameAndPush(`alice-${at}`);
  t.strictSame(passed, []);

  await renamed('eve', 'somebody');
  await renameAndPush('eve');
  t.strictSame(passed, [], 'the name of another one, who is below the limit');
});

t.test('a refusal by the proxy names only owners whose pages everybody may see', async t => {
  const { server } = await open(t);
  await server.done('rule edit little --limit 0');
  for (const owner of ['eve', 'carol.c_d', 'Globex-Corp']) await server.done(`group add-user small ${owner}`);
  const said = async (owner: string) => (await upload(server, owner)).text;
  t.match(await said('alice'), /alice/);
  for (const owner of ['eve', 'carol.c_d', 'Globex-Corp']) {
    t.match(await said(owner), /"This upload is refused by the quota\./, `${owner} is private or limited`);
  }
  await server.reload({ gate: { FIGURES: 'false' } });
  t.notMatch(await said('alice'), /alice/);
});

t.test('where the forge shows nothing without a sign-in, a refusal by the proxy names nobody', async t => {
  for (const [setting, names] of [
    ['[service]\nREQUIRE_SIGNIN_VIEW = true', false],
    ['[service]\nREQUIRE_SIGNIN_VIEW = expensive', true],
  ] as const) {
    const { server } = await open(t, setting);
    await server.done('rule edit little --limit 0');
    const { text } = await upload(server, 'alice');
    t.equal(/alice/.test(text), names, `${setting}: ${text}`);
  }
});

t.test(
  'a repository that was transferred counts for its new owner at once, and nobody seems renamed',
  async t => {
    const { server, root, transferred } = await open(t);
    const clone = await Clone.of(server, join(root, 'eve/app.git'));
    await clone.commit(2_000_000);
    t.equal((await clone.push()).code, 0);
    await server.usageIs('eve', bytes => bytes > 2_000_000);
    await server.done('group add-user small eve');
    await server.reload({ 'quota.default': { TOTAL: '1M' } });
    const begun = performance.now();
    await transferred('eve/app', 'carol.c_d/app');
    await clone.git('remote', 'set-url', 'origin', join(root, 'carol.c_d/app.git'));
    await clone.commit(100);
    t.match(await clone.push(), { code: 1, said: /Quota exceeded: carol\.c_d uses 2/ });
    await server.usageIs('eve', bytes => bytes < 2_000_000);
    t.ok(performance.now() - begun < 20_000, 'the former owner is free of it soon');
    await server.scan();
    const { text } = await server.ask('admin', '/api/v1/admin/quota/findings');
    t.notMatch(text, /perhaps_renamed/);
  },
);

t.test('an upload after an organization was renamed is refused as before', async t => {
  const { server, renamed } = await open(t);
  t.match(await upload(server, 'acme'), { status: 403 });
  await renamed('acme', 'acme-2');
  t.match(await upload(server, 'acme-2'), { status: 403 });
  t.match(await upload(server, 'nobody-has-it'), { status: 200 });
});
