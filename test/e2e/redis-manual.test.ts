/**
 * docs/redis.md: its lines of redis.conf, of access lists and of app.ini, and its commands, as they stand.
 */

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { redisKeys } from '../../src/store/redis/keys.ts';
import { type Server as Redis, startSingle } from '../store/redis-servers.ts';
import { until } from './ask.ts';
import { mayPush, mayPushIs } from './fleet-hosts.ts';
import { type Block, iniOf, readGuide, typeOn } from './guide.ts';
import { type Ini, Server } from './server.ts';

t.setTimeout(300_000);

const blocks = await readGuide('redis.md');

function under(heading: string, kind: string): readonly Block[] {
  const found = blocks.filter(block => block.heading === heading && block.kind === kind);
  if (found.length === 0) throw new Error(`no ${kind} under ${heading}`);
  return found;
}

const textUnder = (heading: string, kind: string) =>
  under(heading, kind)
    .map(({ text }) => text)
    .join('');

/** A server set up by the manual, with both users; `at` is its address with the one or the other. */
async function setUp(t: Test): Promise<{ redis: Redis; at: (text: string) => string }> {
  const folder = t.testdir();
  const users = join(folder, 'users.acl');
  await writeFile(users, textUnder('Redis', 'acl') + textUnder('Hosts that only measure', 'acl'));
  const file = join(folder, 'redis.conf');
  await writeFile(file, textUnder('Redis', 'conf').replace('/etc/redis/users.acl', users));
  const { servers } = await startSingle(t, '--include', file);
  return {
    redis: servers[0],
    at: text => text.replaceAll('redis.example:6379', `127.0.0.1:${servers[0].port}`),
  };
}

/** The blocks of app.ini up to the one under a heading, with this Redis in them. */
function settings(
  heading: 'Another host' | 'Back to one host' | 'The first host',
  at: (text: string) => string,
): Ini {
  const first = iniOf({ kind: 'ini', heading, text: at(textUnder('The first host', 'ini')) });
  const own = iniOf({ kind: 'ini', heading, text: at(textUnder(heading, 'ini')) });
  return { ...first, ...own };
}

/** Types what stands there; a restart is done as a service manager does it. */
async function type(t: Test, server: Server, text: string): Promise<void> {
  for (const line of text.trim().split('\n')) {
    if (line.startsWith('systemctl ')) {
      if (!line.endsWith(' start softquota')) await server.stop();
      if (!line.startsWith('systemctl stop ')) await server.start();
    } else {
      const { code, stderr } = await typeOn(server, line);
      t.equal(code, 0, `${line}\n${stderr}`);
    }
  }
}

t.test('the manual leads from one host to two, through a Redis that lost its policy, and back', async t => {
  const { redis, at } = await setUp(t);
  const one = await Server.open(t, { repositories: ['alice/app'] });
  await one.admin('/admin/quota/groups', {
    body: { name: 'none', rules: [{ name: 'nothing', limit: 0, subjects: ['size:all'] }] },
  });
  await one.admin('/admin/quota/groups/none/users/alice', { method: 'PUT' });
  await one.configure(settings('The first host', at));
  await type(t, one, at(textUnder('The first host', 'sh')));
  t.equal(await mayPush(one, 'alice'), false);
  const { stdout } = await one.softquota('doctor --json');
  t.notMatch(stdout, /shared_store/, 'nothing is wrong with a Redis set up like that');

  const two = await Server.open(t, { repositories: ['alice/app'] });
  await two.configure(settings('Another host', at));
  await type(t, two, at(textUnder('Another host', 'sh')));
  await mayPushIs(two, 'alice', false);

  const asUser = ['--user', 'softquota', '--pass', 'CHANGE-THIS', '--no-auth-warning'];
  await redis.cli(...asUser, 'del', 'softquota:policy', 'softquota:documents');
  const isThere = async () => redis.cli(...asUser, 'exists', 'softquota:policy');
  await until(async () => ((await isThere()) === '1' ? true : null));
  t.equal((await two.reasons()) + (await one.reasons()), '', 'what was lost is written again');
  await redis.cli(...asUser, 'hset', 'softquota:policy', 'generation', 'another');
  await until(async () => (/does not continue/.test(await one.reasons()) ? true : null));
  await type(t, one, textUnder('When something fails', 'sh'));
  await until(async () => ((await two.reasons()) === '' ? true : null));

  await two.stop();
  await type(t, one, textUnder('Hosts that come and go', 'sh'));
  const [home = '', again = ''] = under('Back to one host', 'sh').map(({ text }) => text);
  await type(t, one, home);
  await one.configure(settings('Back to one host', at));
  await type(t, one, again);
  t.equal(await mayPush(one, 'alice'), false);
});

t.test('a host that only measures tells its usage, follows the policy, and cannot change it', async t => {
  const { at } = await setUp(t);
  const one = await Server.open(t, { repositories: ['alice/app'], ini: settings('The first host', at) });
  const ini = settings('Another host', at);
  const address = String(ini.store?.HOST).replace(
    'softquota:CHANGE-THIS@',
    'softquota-git2:CHANGE-THIS-TOO@',
  );
  const two = await Server.open(t, {
    repositories: ['alice/app', 'bob/app'],
    ini: { ...ini, store: { ...ini.store, HOST: address } },
  });
  t.ok((await one.usageIs('bob', bytes => bytes > 0)) > 0, 'what it measures counts');
  const body = { name: 'none', rules: [{ name: 'nothing', limit: 0, subjects: ['size:all'] }] };
  t.match(await two.ask('admin', '/api/v1/admin/quota/groups', { body }), {
    status: 503,
    text: /does not permit it/,
  });
  await one.admin('/admin/quota/groups', { body });
  await one.admin('/admin/quota/groups/none/users/bob', { method: 'PUT' });
  await mayPushIs(two, 'bob', false);
  t.equal(await two.reasons(), '');
  await two.softquota('check bob');
  await one.stop();
  t.match(await two.softquota('host forget git1'), { code: 0 });
});

t.test('the page of keys names every key that is kept', async t => {
  const text = await readFile(new URL('../../docs/reference/redis-keys.md', import.meta.url), 'utf8');
  for (const [name, key] of Object.entries(redisKeys('PREFIX'))) {
    const spelled = typeof key === 'string' ? key : key(name === 'task' ? 'NAME' : 'HOST', 'documents');
    t.ok(text.includes(name === 'staged' ? '`PREFIX:staged:*`' : `\`${spelled}\``), spelled);
  }
});
