/** `softquota policy import --from`: a Forgejo's rules, groups and members, by its own routes. */

import { createServer } from 'node:http';
import t, { type Test } from 'tap';
import { served } from '../served.ts';
import { Server } from './server.ts';

const token = 'f0f0f0f0';
const rules = [
  { name: 'all of it', limit: 10_000, subjects: ['size:all'] },
  { name: 'wiki', limit: -1, subjects: ['size:assets:wiki'] },
];
const groups = [
  { name: 'a/b', rules },
  { name: 'empty', rules: [] },
];

/** A server that answers as Forgejo does, below a path; `fault` is the status of all answers. */
async function openForgejo(t: Test) {
  const forgejo = { url: '', fault: null as number | null };
  const bodies: Readonly<Record<string, unknown>> = {
    '/git/api/v1/admin/quota/rules': rules,
    '/git/api/v1/admin/quota/groups': groups,
    '/git/api/v1/admin/quota/groups/a%2Fb/users': [{ id: 1, login: 'alice', username: 'alice' }],
    '/git/api/v1/admin/quota/groups/empty/users': [],
  };
  const server = createServer(({ url = '', headers }, response) => {
    const answer = (status: number, body: unknown) => {
      response.writeHead(status, { 'Content-Type': 'application/json', Location: 'https://git.example/' });
      response.end(JSON.stringify(body));
    };
    const body = bodies[url];
    if (headers.authorization !== `token ${token}`)
      answer(401, { message: 'invalid username, password or token' });
    else if (forgejo.fault !== null) answer(forgejo.fault, { message: 'a fault' });
    else answer(body === undefined ? 404 : 200, body ?? { message: 'not found' });
  });
  forgejo.url = `http://127.0.0.1:${await served(t, server)}/git/`;
  return forgejo;
}

t.test('a policy is taken over from a Forgejo, and what it cannot give is named', async t => {
  const forgejo = await openForgejo(t);
  const server = await Server.open(t);
  const tokenFile = await server.file('token', `${token}\n`);
  const from = ['--from', forgejo.url, '--token-file', tokenFile];
  const take = () => server.softquota(['policy', 'import', ...from, '--yes', '--create-users']);
  t.match(await take(), { code: 0, stdout: /Imported\. The policy is in force\.\n$/ });
  t.match(await take(), { code: 0, stdout: /^Nothing would change/ });
  t.strictSame(JSON.parse(await server.done('policy export')), {
    rules,
    groups: [
      { name: 'a/b', rules: ['all of it', 'wiki'], users: ['alice'] },
      { name: 'empty', rules: [], users: [] },
    ],
  });

  const said = async (code: number, words: RegExp, ...args: readonly string[]) =>
    t.match(await server.softquota(['policy', 'import', ...args]), { code, stderr: words }, args.join(' '));
  await said(2, /--from: expected an address/, '--from', 'git.example', '--token-file', tokenFile);
  await said(2, /--token-file is missing: expected a file/, '--from', forgejo.url);
  await said(2, /expected either a file, or --from/);
  await said(2, /expected either a file, or --from/, tokenFile, ...from);
  await said(74, /nowhere/, '--from', forgejo.url, '--token-file', '/nowhere');
  await said(69, /ECONNREFUSED/, '--from', 'http://127.0.0.1:2/', '--token-file', tokenFile);
  const other = await server.file('other', 'wrong\n');
  await said(77, /status 401: invalid username/, '--from', forgejo.url, '--token-file', other);
  await server.file('other', 'two words\n');
  await said(2, /expected a token, alone/, '--from', forgejo.url, '--token-file', other);
  for (const [status, code, words] of [
    [403, 77, /status 403: a fault \(the token needs an administrator/],
    [404, 1, /status 404: a fault \(it needs Forgejo 9/],
    [302, 69, /status 302: a fault; give the address that it leads to/],
    [500, 69, /status 500/],
    [200, 69, /not the answer of a Forgejo/],
  ] as const) {
    forgejo.fault = status;
    await said(code, words, ...from);
  }
});
