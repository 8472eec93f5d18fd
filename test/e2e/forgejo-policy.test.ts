/** `softquota policy import --from`, beside a Forgejo's recorded policy and answers. */

import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { z } from 'zod';
import { served } from '../served.ts';
import { Server } from './server.ts';

t.setTimeout(600_000);

const recordedRule = z.object({ name: z.string(), limit: z.number(), subjects: z.array(z.string()) });
const recordedGroup = z.object({ name: z.string(), rules: z.array(recordedRule) });
const recordedCase = z.object({
  groups: z.array(recordedGroup),
  used: z.record(z.string(), z.number()),
  subject: z.string(),
  defaultTotal: z.number(),
  /** The answer with REFUSE_WHEN = reached and UNCOVERED = deny. */
  reachedDeny: z.boolean(),
  exceededDefault: z.boolean(),
  /** Forgejo's answer, where softquota's is another one. */
  forgejo: z.boolean().optional(),
});

type RecordedCase = z.infer<typeof recordedCase>;

/** The recorded decisions for owners in groups, or without any and without a default limit. */
function recordedCases(): readonly RecordedCase[] {
  const text = readFileSync(new URL('../vectors/evaluation.json', import.meta.url), 'utf8');
  const { cases } = z.object({ cases: z.array(recordedCase) }).parse(JSON.parse(text));
  return cases.filter(({ defaultTotal }) => defaultTotal === -1);
}

interface RecordedOwner extends RecordedCase {
  readonly name: string;
}

class RecordedForgejo {
  readonly owners: readonly RecordedOwner[];
  /** Statuses to answer with, by the beginning of the path. */
  readonly faults = new Map<string, number>();
  readonly token = 'f0f0f0f0';
  #port = 0;

  private constructor(owners: readonly RecordedOwner[]) {
    this.owners = owners;
  }

  static async open(t: Test, cases: readonly RecordedCase[]): Promise<RecordedForgejo> {
    const forgejo = new RecordedForgejo(cases.map(ownerOf));
    const server = createServer((request, response) => {
      const { status, body } = forgejo.#answer(request);
      response.writeHead(status, { 'Content-Type': 'application/json', Location: 'https://git.example/' });
      response.end(JSON.stringify(body));
    });
    forgejo.#port = await served(t, server);
    return forgejo;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/git/`;
  }

  #answer({ url = '', headers }: IncomingMessage): { readonly status: number; readonly body: unknown } {
    const { pathname } = new URL(url, 'http://localhost');
    if (headers.authorization !== `token ${this.token}`)
      return { status: 401, body: { message: 'invalid username, password or token' } };
    const path = pathname.replace(/^\/git\/api\/v1/, '');
    const fault = [...this.faults].find(([beginning]) => path.startsWith(beginning));
    if (fault !== undefined) return { status: fault[1], body: { message: 'a fault' } };
    const body = this.#bodyOf(path);
    return body === undefined ? { status: 404, body: { message: 'not found' } } : { status: 200, body };
  }

  #bodyOf(path: string): unknown {
    const groups = this.owners.flatMap(owner => owner.groups);
    // One rule may be in several groups.
    if (path === '/admin/quota/rules')
      return [...new Map(groups.flatMap(({ rules }) => rules.map(rule => [rule.name, rule]))).values()];
    if (path === '/admin/quota/groups') return groups;
    const [, named] = /^\/admin\/quota\/groups\/([^/]*)\/users$/.exec(path) ?? [];
    if (named === undefined) return undefined;
    return this.owners
      .filter(owner => owner.groups.some(({ name }) => name === decodeURIComponent(named)))
      .map(({ name }) => ({ id: 1, login: name, username: name }));
  }
}

/** The groups and rules get names that are no other owner's. */
function ownerOf(recorded: RecordedCase, index: number): RecordedOwner {
  const name = `user${index}`;
  const groups = recorded.groups.map(group => ({
    name: `${name} ${group.name}`,
    rules: group.rules.map(rule => ({ ...rule, name: `${name} ${rule.name}` })),
  }));
  return { ...recorded, name, groups };
}

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
