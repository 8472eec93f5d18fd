/**
 * The rows of docs/forges/hooks.md at a real Gitea, for an owner over the limit; and owners who rename
 * themselves, or whose repositories move, and push at once. Only the long run builds it.
 */

import { randomBytes } from 'node:crypto';
import { rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { until } from '../e2e/ask.ts';
import { must } from '../e2e/run.ts';
import { guardedForge, uses } from './guarded-forge.ts';
import { admin } from './real-forge.ts';

const version = '1.27.3';
const refusal = /Quota exceeded: alice uses/;
const content = Buffer.from('some text').toString('base64');
const more = `[repository]
ENABLE_PUSH_CREATE_USER = true
[migrations]
ALLOW_LOCALNETWORKS = true
`;

t.setTimeout(3_600_000);

/** Makes a work tree with a commit of random bytes, which no packing makes smaller. */
async function treeOf(folder: string, bytes: number): Promise<string> {
  await must('git', ['init', '-q', '-b', 'main', folder]);
  await writeFile(join(folder, 'bytes'), randomBytes(bytes));
  await must('git', ['-C', folder, 'add', 'bytes']);
  await must('git', ['-C', folder, 'commit', '-q', '-m', 'x']);
  return folder;
}

t.test('every row is as the manual says', async t => {
  const { server, forge, work } = await guardedForge(t, version, more);
  const users = '/api/v1/admin/users';
  const repos = '/api/v1/repos';
  const [own, ofAlice] = [`${repos}/${admin.name}`, `${repos}/alice`];
  const alice = { name: 'alice', password: randomBytes(12).toString('hex') };
  await forge.ask('PATCH', `${users}/alice`, { password: alice.password, login_name: 'alice', source_id: 0 });
  const tried = (path: string, body: object = {}) => forge.tried('POST', path, body, alice);

  for (const [name, bytes] of [
    ['small', 1000],
    ['large', 100_000],
  ] as const) {
    await forge.ask('POST', `${users}/${admin.name}/repos`, { name });
    const tree = await treeOf(join(server.folder, name), bytes);
    t.match(await forge.push(tree, `${admin.name}/${name}`, 'HEAD:main'), { code: 0 });
    await forge.ask('PATCH', `${own}/${name}`, { template: true, default_branch: 'main' });
  }
  const edit = { content, message: 'x' };
  t.match(await tried(`${own}/large/forks`, { name: 'behind' }), { status: 202 });
  await forge.ask('POST', `${own}/large/contents/ahead.txt`, edit);
  t.match(await tried(`${ofAlice}/app/wiki/new`, { title: 'Home', content_base64: content }), {
    status: 201,
  });
  t.match(await tried(`${ofAlice}/app/contents/a.txt`, { ...edit, new_branch: 'topic' }), { status: 201 });
  t.match(await tried(`${ofAlice}/app/pulls`, { head: 'topic', base: 'main', title: 'x' }), { status: 201 });
  t.match(await tried(`${ofAlice}/app/contents/b.txt`, edit), { status: 201 });
  await uses(server, 2_000_000);

  const withoutReason = { status: 500, text: /"message":""/ };
  const generate = { owner: 'alice', git_content: true };
  const migrate = { clone_addr: `${forge.url}/${admin.name}/small.git`, repo_owner: 'alice' };
  const wikiPage = { title: 'More', content_base64: content };
  const rows = [
    ['a README', '/api/v1/user/repos', { name: 'readme', auto_init: true }, { status: 201 }],
    ['a small template', `${own}/small/generate`, { ...generate, name: 'from-small' }, { status: 201 }],
    ['a larger template', `${own}/large/generate`, { ...generate, name: 'from-large' }, withoutReason],
    ['the sync of a fork', `${ofAlice}/behind/merge-upstream`, { branch: 'main' }, withoutReason],
    ['"Update branch"', `${ofAlice}/app/pulls/1/update`, {}, withoutReason],
    ['a page of a wiki', `${ofAlice}/app/wiki/new`, wikiPage, withoutReason],
    ['a fork', `${own}/small/forks`, { name: 'forked' }, { status: 202 }],
    ['a migration', `${repos}/migrate`, { ...migrate, repo_name: 'migrated' }, { status: 201 }],
    ['a mirror', `${repos}/migrate`, { ...migrate, repo_name: 'mirrored', mirror: true }, { status: 201 }],
    ['its sync', `${ofAlice}/mirrored/mirror-sync`, {}, { status: 200 }],
    ['an edit', `${ofAlice}/app/contents/c.txt`, edit, { status: 403, text: refusal }],
  ] as const;
  for (const [row, path, body, expected] of rows) t.match(await tried(path, body), expected, row);
  t.match(await forge.push(work, 'alice/app.wiki', '+HEAD:main'), { code: 1, stderr: refusal }, 'a wiki');
  const given = await forge.tried('POST', `${own}/small/transfer`, { new_owner: 'alice' });
  t.match(given, { status: 202 }, 'a transfer');

  const remote = new URL(`${forge.url}/alice/fresh.git`);
  Object.assign(remote, { username: alice.name, password: alice.password });
  t.match(await forge.pushTo(remote.href, work, 'HEAD:main'), { code: 1, stderr: refusal }, 'push-create');
  const left = await forge.tried('GET', `${ofAlice}/fresh`);
  t.match(left, { status: 200, text: /"empty":true/ }, 'which leaves an empty repository');
});

t.test('of 50 renames, each followed by a push at once, none lets a push over the limit pass', async t => {
  const { server, forge } = await guardedForge(t, version);
  const tree = await treeOf(join(server.folder, 'tree'), 2_000_000);
  t.match(await forge.push(tree, 'alice/app', 'HEAD:refs/heads/first'), { code: 0 });
  await server.usageIs('alice', used => used > 2_000_000);
  const passed: string[] = [];
  let name = 'alice';
  for (let turn = 0; turn < 50; turn += 1) {
    const renamed = `alice-${turn}`;
    await forge.ask('POST', `/api/v1/admin/users/${name}/rename`, { new_username: renamed });
    name = renamed;
    await must('git', ['-C', tree, 'commit', '-q', '--allow-empty', '-m', name]);
    const { code, stderr } = await forge.push(tree, `${name}/app`, `HEAD:refs/heads/turn-${turn}`);
    if (code === 0 || !/Quota exceeded/.test(stderr)) passed.push(`${name}: ${code} ${stderr}`);
  }
  t.same(passed, [], server.daemon.log);
});

t.test('while the repositories move behind a link under load, no push over the limit passes', async t => {
  const { server, forge } = await guardedForge(t, version);
  const tree = await treeOf(join(server.folder, 'tree'), 2_000_000);
  t.match(await forge.push(tree, 'alice/app', 'HEAD:refs/heads/first'), { code: 0 });
  await server.usageIs('alice', used => used > 2_000_000);
  await must('git', ['-C', tree, 'commit', '-q', '--allow-empty', '-m', 'never stored']);
  const passed: string[] = [];
  let [refused, turn] = [0, 0];
  let moves = true;
  const load = async () => {
    for (; moves; turn += 1) {
      const { code, stderr } = await forge.push(tree, 'alice/app', `HEAD:refs/heads/turn-${turn}`);
      if (code === 0) passed.push(stderr);
      if (refusal.test(stderr)) refused += 1;
    }
  };
  const loads = [load(), load()];
  const refusedSince = async (before: number) => {
    await until(() => (refused >= before + 10 ? true : null));
  };
  await refusedSince(0);
  const elsewhere = `${forge.repositories}-moved`;
  await rename(forge.repositories, elsewhere);
  await symlink(elsewhere, forge.repositories);
  await refusedSince(refused);
  moves = false;
  await Promise.all(loads);
  t.same(passed, []);
});
