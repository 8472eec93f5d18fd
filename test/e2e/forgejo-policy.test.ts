/** `softquota policy import --from`, beside a Forgejo's recorded policy and answers. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { z } from 'zod';
import { RecordedForgejo, type RecordedOwner, recordedCases } from './recorded-forgejo.ts';
import { Server } from './server.ts';

t.setTimeout(600_000);

const asForgejo = { REFUSE_WHEN: 'reached', UNCOVERED: 'deny' };
const explained = z.object({ decision: z.object({ allowed: z.boolean() }) });

/** Some of each kind: cases that differ from softquota's, refused and allowed ones. */
function someCases() {
  const all = recordedCases();
  const differing = all.filter(({ forgejo }) => forgejo !== undefined);
  const step = Math.ceil(all.length / 20);
  return [...new Set([...differing.slice(0, 6), ...all.filter((_, index) => index % step === 0)])];
}

async function open(t: Test, cases = someCases()) {
  const forgejo = await RecordedForgejo.open(t, cases);
  const server = await Server.open(t, { ini: { quota: asForgejo } });
  for (const { name, used } of forgejo.owners) {
    for (const [subject, bytes] of Object.entries(used)) {
      if (bytes > 0) await server.reports(name, bytes, { subject, unit: subject });
    }
  }
  const tokenFile = await server.file('token', `${forgejo.token}\n`);
  const from = ['--from', forgejo.url, '--token-file', tokenFile];
  const allows = async ({ name, subject }: RecordedOwner) => {
    const query = new URLSearchParams({ user: name, subject });
    const { text } = await server.ask('admin', `/api/v1/admin/quota/explain?${query}`);
    return explained.parse(JSON.parse(text)).decision.allowed;
  };
  const take = () => server.softquota(['policy', 'import', ...from, '--yes', '--create-users']);
  return { forgejo, server, from, tokenFile, allows, take };
}

t.test('a policy taken over from a Forgejo decides as it does there', async t => {
  const { forgejo, server, allows, take } = await open(t);
  const taken = await take();
  t.match(taken, { code: 0, stdout: /Imported\. The policy is in force\.\n$/ });
  t.match(await take(), { code: 0, stdout: /^Nothing would change/ });

  for (const owner of forgejo.owners) t.equal(await allows(owner), owner.reachedDeny, JSON.stringify(owner));

  await server.stop();
  await server.configure({ quota: { REFUSE_WHEN: 'exceeded', UNCOVERED: 'default' } });
  await server.start();
  for (const owner of forgejo.owners)
    t.equal(await allows(owner), owner.exceededDefault, JSON.stringify(owner));
});

t.test('a server that is not there, refuses, or is no Forgejo is named with what is expected', async t => {
  const { forgejo, server, from, tokenFile } = await open(t, someCases().slice(0, 3));
  const said = async (code: number, words: RegExp, ...args: readonly string[]) =>
    t.match(await server.softquota(['policy', ...args]), { code, stderr: words }, args.join(' '));
  await said(2, /--from: expected an address/, 'import', '--from', 'git.example', '--token-file', tokenFile);
  await said(2, /--token-file is missing: expected a file/, 'import', '--from', forgejo.url);
  await said(2, /expected either a file, or --from/, 'import');
  await said(2, /expected either a file, or --from/, 'import', tokenFile, ...from);
  await said(74, /nowhere/, 'import', '--from', forgejo.url, '--token-file', '/nowhere');
  await said(69, /ECONNREFUSED/, 'import', '--from', 'http://127.0.0.1:2/', '--token-file', tokenFile);

  const other = join(server.folder, 'other');
  await writeFile(other, 'wrong\n');
  await said(77, /status 401: invalid username/, 'import', '--from', forgejo.url, '--token-file', other);
  await writeFile(other, 'two words\n');
  await said(2, /expected a token, alone/, 'import', '--from', forgejo.url, '--token-file', other);

  for (const [status, code, words] of [
    [403, 77, /status 403: a fault \(the token needs an administrator/],
    [404, 1, /status 404: a fault \(it needs Forgejo 9/],
    [302, 69, /status 302: a fault; give the address that it leads to/],
    [500, 69, /status 500/],
    [200, 69, /not the answer of a Forgejo/],
  ] as const) {
    forgejo.faults.set('/admin/quota', status);
    await said(code, words, 'import', ...from);
  }
  forgejo.faults.clear();
});
