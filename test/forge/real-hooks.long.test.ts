/**
 * Pushes to a real Gitea: no push to hundreds of repositories goes unasked while they are made, and after
 * all that rewrites hooks. Only the long run builds it.
 */

import { join } from 'node:path';
import t from 'tap';
import { z } from 'zod';
import { until } from '../e2e/ask.ts';
import { must } from '../e2e/run.ts';
import { guardedForge, uses } from './guarded-forge.ts';
import { admin, type RealForge } from './real-forge.ts';

const repositories = 500;
/** Number of repositories that are made at a time. */
const makers = 2;
const [older, newer] = ['1.26.0', '1.27.3'];

t.setTimeout(3_600_000);

const refusal = /Quota exceeded: alice uses/;

t.test(`no push to ${repositories} new repositories goes unasked, whatever rewrites the hooks`, async t => {
  const { server, forge, work } = await guardedForge(t, older);
  await uses(server, 2_000_000);
  const unasked: string[] = [];
  const push = async (name: string): Promise<void> => {
    const { code, stderr } = await forge.push(work, `alice/${name}`, 'HEAD:refs/heads/main');
    if (code === 0 || !refusal.test(stderr)) unasked.push(`${name}: ${code} ${stderr}`);
  };
  const names = Array.from({ length: repositories }, (_, at) => `r${at}`);
  const waiting = [...names];
  const make = async () => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      await forge.ask('POST', '/api/v1/admin/users/alice/repos', { name });
      await push(name);
    }
  };
  await Promise.all(Array.from({ length: makers }, make));
  t.same(unasked, [], 'while they were made');

  const some = names.filter((_, at) => at % 25 === 0);
  const stillAsked = async (after: string) => {
    for (const name of some) await push(name);
    t.same(unasked, [], after);
    const status = await server.softquota(['hooks', 'status', '--config', server.config, forge.repositories]);
    t.equal(status.code, 0, `${after}, all are guarded`);
  };
  await resynchronize(forge);
  await stillAsked('after the hooks were resynchronized');
  await forge.restart();
  await stillAsked('after a restart');
  await forge.restart(newer);
  await stillAsked(`after an upgrade from ${older} to ${newer}`);
  await resynchronize(forge);
  await stillAsked('after the upgraded forge resynchronized them');
  await forge.ask('POST', '/api/v1/admin/users/alice/repos', { name: 'newest' });
  await push('newest');
  t.same(unasked, [], 'a repository of the upgraded forge');
});

const tasks = z.array(z.object({ name: z.string(), exec_times: z.number() }));

async function resynchronize(forge: RealForge): Promise<void> {
  const timesOf = async (): Promise<number> => {
    const found = tasks.parse(await forge.ask('GET', '/api/v1/admin/cron?limit=50'));
    return found.find(({ name }) => name === 'resync_all_hooks')?.exec_times ?? 0;
  };
  const before = await timesOf();
  await forge.ask('POST', '/api/v1/admin/cron/resync_all_hooks');
  await until(async () => ((await timesOf()) > before ? true : null));
}

const content = Buffer.from('some text').toString('base64');

t.test('AGit, merges, edits and pull requests are asked about as the manual says', async t => {
  const { server, forge, work } = await guardedForge(t, newer);
  const path = '/api/v1/repos/alice/app';
  const fork = await forge.tried('POST', `${path}/forks`, { name: 'fork' });
  t.equal(fork.status, 202);
  const clone = join(server.folder, 'clone');
  await must('git', ['clone', '-q', forge.remote('alice/app'), clone]);
  await must('git', ['-C', clone, 'commit', '-q', '--allow-empty', '-m', 'more']);

  const agit = (topic: string) => forge.push(clone, 'alice/app', `HEAD:refs/for/main/${topic}`);
  const edit = (name: string, branch: string) =>
    forge.tried('POST', `${path}/contents/${name}`, { content, message: 'x', new_branch: branch });
  const pull = (head: string) => forge.tried('POST', `${path}/pulls`, { head, base: 'main', title: head });
  // While it finds out whether there are conflicts, it asks to be asked later.
  const merge = (number: number) =>
    until(async () => {
      const answer = await forge.tried('POST', `${path}/pulls/${number}/merge`, { Do: 'merge' });
      return answer.status === 405 && answer.text.includes('try again later') ? null : answer;
    });

  t.match(await agit('first'), { code: 0 }, 'an AGit push makes a pull request');
  t.equal((await edit('a.txt', 'second')).status, 201, 'the contents API writes');
  t.equal((await pull('second')).status, 201);
  t.equal((await forge.push(work, `${admin.name}/fork`, '+HEAD:main')).code, 0, 'a fork is pushed to');
  t.equal((await merge(1)).status, 200, 'and merged');

  await uses(server, 2_000_000);
  await must('git', ['-C', clone, 'commit', '-q', '--allow-empty', '-m', 'even more']);
  t.match(await agit('third'), { code: 1, stderr: refusal }, 'an AGit push is refused with the lines');
  t.match(await edit('b.txt', 'fourth'), { status: 403, text: refusal }, 'so is the contents API');
  t.match(await merge(2), { status: 409, text: refusal }, 'and a merge');
  const forked = await forge.tried('POST', `/api/v1/repos/${admin.name}/fork/contents/c.txt`, {
    content,
    message: 'x',
    branch: 'main',
  });
  t.equal(forked.status, 201, 'the owner of the fork is another one');
  const fromFork = await pull(`${admin.name}:main`);
  t.equal(fromFork.status, 201, `a pull request from a fork passes: ${fromFork.text}`);
  const left = await must('git', ['ls-remote', forge.remote('alice/app'), 'refs/heads/fourth']);
  t.equal(left, '', 'nothing of what was refused is there');

  await uses(server, 0);
  t.equal((await merge(2)).status, 200, 'with room again it is merged');
});
