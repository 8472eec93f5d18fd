/** `softquota policy import --from` and `policy compare`, beside a Forgejo's recorded answers. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { z } from 'zod';
import { forgejoAllows } from '../../src/commands/forgejo-decision.ts';
import { isSubject, usageOf } from '../../src/quota/index.ts';
import { RecordedForgejo, recordedCases } from './recorded-forgejo.ts';
import { Server } from './server.ts';

t.setTimeout(600_000);

const asForgejo = { REFUSE_WHEN: 'reached', UNCOVERED: 'deny' };
const comparison = z.object({
  owners: z.number(),
  unexplained: z.number(),
  differences: z.array(
    z.object({
      owner: z.string(),
      what: z.string(),
      subject: z.string().optional(),
      theirs: z.unknown().optional(),
      ours: z.unknown().optional(),
      reasons: z.array(z.string()),
    }),
  ),
});

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
      if (bytes === 0) continue;
      const body = { owner: name, subject, unit: `${name} ${subject}`, bytes };
      t.equal((await server.ask('trusted', '/v1/units', { body })).status, 200);
    }
  }
  const tokenFile = join(server.folder, 'token');
  await writeFile(tokenFile, `${forgejo.token}\n`);
  const from = ['--from', forgejo.url, '--token-file', tokenFile];
  const compare = async (...more: readonly string[]) => {
    const { code, stdout } = await server.softquota(['policy', 'compare', ...from, '--json', ...more]);
    return { code, ...comparison.parse(JSON.parse(stdout)) };
  };
  const take = () => server.softquota(['policy', 'import', ...from, '--yes', '--create-users']);
  return { forgejo, server, from, tokenFile, compare, take };
}

t.test('the evaluation that explains differences is the one that was recorded', t => {
  const cases = recordedCases();
  for (const { groups, used, subject, reachedDeny, forgejo, defaultTotal } of cases) {
    if (!isSubject(subject)) throw new Error(`${subject} is no subject`);
    const known = groups.map(({ name, rules }) => ({
      name,
      rules: rules.map(rule => ({ ...rule, subjects: rule.subjects.filter(isSubject) })),
    }));
    const answer = forgejoAllows({ groups: known, totalBytes: defaultTotal }, usageOf(used), subject);
    if (answer !== (forgejo ?? reachedDeny)) t.fail(JSON.stringify({ groups, used, subject, answer }));
  }
  t.ok(cases.length > 500);
  t.end();
});

t.test(
  'a policy taken over from a Forgejo decides as it does there, and each difference has a reason',
  async t => {
    const { forgejo, server, compare, take } = await open(t);
    const before = await compare();
    t.ok(
      before.differences.some(({ reasons }) => reasons.includes('policy')),
      'nothing was taken over yet',
    );

    const taken = await take();
    t.match(taken, { code: 0, stdout: /Imported\. The policy is in force\.\n$/ });
    t.match(await take(), { code: 0, stdout: /^Nothing would change/ });

    const after = await compare();
    t.match(after, { code: 0, owners: forgejo.owners.length, unexplained: 0 });
    const reasons = new Set(after.differences.flatMap(each => each.reasons));
    t.strictSame([...reasons], ['overlap'], 'only what Forgejo counts twice is decided otherwise');

    await server.stop();
    await server.configure({ quota: { REFUSE_WHEN: 'exceeded', UNCOVERED: 'default' } });
    await server.start();
    const ownWay = await compare();
    t.match(ownWay, { code: 0, unexplained: 0 });
    t.ok(ownWay.differences.some(each => each.reasons.includes('uncovered')));
    const cases = someCases();
    for (const [index, { subject, exceededDefault, forgejo: otherwise, reachedDeny }] of cases.entries()) {
      const theirs = otherwise ?? reachedDeny;
      const owner = forgejo.owners[index]?.name;
      const told = ownWay.differences.find(
        each => each.what === 'decision' && each.owner === owner && each.subject === subject,
      );
      t.equal(told !== undefined, theirs !== exceededDefault, `${owner}: ${subject}`);
    }
  },
);

t.test('what nothing explains comes first, and is counted in the exit status', async t => {
  const { forgejo, server, from, compare, take } = await open(t, someCases().slice(0, 12));
  await take();
  const [first, second, third] = forgejo.owners;
  if (first === undefined || second === undefined || third === undefined) throw new Error('too few owners');
  forgejo.lies.set(`${second.name} size:assets:wiki`, !(await isAllowed(forgejo, second.name)));
  const lied = await compare();
  t.match(lied, { code: 1, unexplained: 1 });
  const { code, stdout } = await server.softquota(['policy', 'compare', ...from]);
  t.equal(code, 1);
  t.match(stdout.split('\n')[1], new RegExp(`^${second.name}  may add size:assets:wiki .*unexplained$`));
  t.match(stdout, /12 owners of http:.*: 1 unexplained\.\n$/);
  forgejo.lies.clear();

  // Usage that is another one here.
  const body = { owner: first.name, subject: 'size:assets:wiki', unit: 'wiki', bytes: 1 };
  t.equal((await server.ask('trusted', '/v1/units', { body })).status, 200);
  const more = { owner: 'elsewhere', subject: 'size:git:lfs', unit: 'lfs', bytes: 1 };
  t.equal((await server.ask('trusted', '/v1/units', { body: more })).status, 200);
  const { differences } = await compare('--owner', first.name, '--owner', 'elsewhere');
  t.match(
    differences.filter(({ what }) => what !== 'decision'),
    [
      { owner: first.name, subject: 'size:assets:wiki', theirs: 0, ours: 1, reasons: ['not_counted_there'] },
      { owner: 'elsewhere', what: 'owner', theirs: false, ours: true, reasons: ['unknown_there'] },
    ],
  );

  // One of whom that server tells nothing.
  forgejo.faults.set(`/admin/users/${third.name}/quota`, 403);
  const { differences: told, code: exit } = await compare('--owner', third.name);
  t.equal(exit, 1);
  t.match(told, [{ owner: third.name, what: 'not_asked', reasons: ['unexplained'] }]);
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
  await said(1, /neither server knows the owner mallory/, 'compare', ...from, '--owner', 'mallory');

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

async function isAllowed({ url, token }: RecordedForgejo, owner: string): Promise<boolean> {
  const path = `${url}api/v1/user/quota/check?subject=size:assets:wiki`;
  const response = await fetch(path, { headers: { Authorization: `token ${token}`, Sudo: owner } });
  return z.boolean().parse(await response.json());
}
