/**
 * A server that answers as a Forgejo did when test/vectors/evaluation.json was recorded: each case is a user
 * with groups of their own, and the kinds of data that were asked then get the recorded answer.
 */

import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Test } from 'tap';
import { z } from 'zod';

const recordedRule = z.object({ name: z.string(), limit: z.number(), subjects: z.array(z.string()) });
const recordedGroup = z.object({ name: z.string(), rules: z.array(recordedRule) });
const recordedCase = z.object({
  groups: z.array(recordedGroup),
  used: z.record(z.string(), z.number()),
  subject: z.string(),
  defaultTotal: z.number(),
  reachedDeny: z.boolean(),
  exceededDefault: z.boolean(),
  forgejo: z.boolean().optional(),
});

export type RecordedCase = z.infer<typeof recordedCase>;

/** The recorded decisions for owners in groups, or without any and without a default limit. */
export function recordedCases(): readonly RecordedCase[] {
  const text = readFileSync(new URL('../vectors/evaluation.json', import.meta.url), 'utf8');
  const { cases } = z.object({ cases: z.array(recordedCase) }).parse(JSON.parse(text));
  return cases.filter(({ defaultTotal }) => defaultTotal === -1);
}

export interface RecordedOwner {
  readonly name: string;
  readonly type: 'user' | 'organization';
  readonly used: Readonly<Record<string, number>>;
  /** With names that are no other owner's. */
  readonly groups: readonly z.infer<typeof recordedGroup>[];
  /** By subject: what was recorded. */
  readonly answers: ReadonlyMap<string, boolean>;
}

export class RecordedForgejo {
  readonly owners: readonly RecordedOwner[];
  /** What it says instead of the truth, by `OWNER SUBJECT`. */
  readonly lies = new Map<string, boolean>();
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
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    forgejo.#port = (server.address() as AddressInfo).port; // it listens on an address
    t.teardown(() => {
      server.closeAllConnections();
      server.close();
    });
    return forgejo;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/git/`;
  }

  #answer({ url = '', headers }: IncomingMessage): { readonly status: number; readonly body: unknown } {
    const { pathname, searchParams } = new URL(url, 'http://localhost');
    if (headers.authorization !== `token ${this.token}`)
      return { status: 401, body: { message: 'invalid username, password or token' } };
    const path = pathname.replace(/^\/git\/api\/v1/, '');
    const fault = [...this.faults].find(([beginning]) => path.startsWith(beginning));
    if (fault !== undefined) return { status: fault[1], body: { message: 'a fault' } };
    const body = this.#bodyOf(path, searchParams, String(headers.sudo ?? ''));
    return body === undefined ? { status: 404, body: { message: 'not found' } } : { status: 200, body };
  }

  #bodyOf(path: string, query: URLSearchParams, sudo: string): unknown {
    const [, first, second, third, fourth, fifth] = path.split('/');
    const groups = this.owners.flatMap(({ groups }) => groups);
    const page = (type: RecordedOwner['type']) => {
      // Fewer than are asked for, as an administrator may have it.
      const begin = (Number(query.get('page')) - 1) * 7;
      return this.owners
        .filter(owner => owner.type === type)
        .slice(begin, begin + 7)
        .map(loginOf);
    };
    // One rule may be in several groups.
    if (path === '/admin/quota/rules')
      return [...new Map(groups.flatMap(({ rules }) => rules.map(rule => [rule.name, rule]))).values()];
    if (path === '/admin/quota/groups') return groups;
    if (path === '/admin/users') return page('user');
    if (path === '/admin/orgs') return page('organization');
    if (first === 'admin' && third === 'groups' && fifth === 'users') {
      const name = decodeURIComponent(fourth ?? '');
      return this.owners.filter(owner => owner.groups.some(group => group.name === name)).map(loginOf);
    }
    if (first === 'admin' && second === 'users' && fourth === 'quota') {
      const owner = this.#named(third);
      return owner && { used: treeOf(owner.used), groups: owner.groups };
    }
    if (path === '/user/quota/check' || (first === 'orgs' && path.endsWith('/quota/check'))) {
      const owner = this.#named(first === 'orgs' ? second : sudo);
      const subject = query.get('subject') ?? '';
      if (owner === undefined || (owner.type === 'organization') !== (first === 'orgs')) return undefined;
      return (
        this.lies.get(`${owner.name} ${subject}`) ?? owner.answers.get(subject) ?? evaluated(owner, subject)
      );
    }
    return undefined;
  }

  #named(name: string | undefined): RecordedOwner | undefined {
    return this.owners.find(owner => owner.name === name);
  }
}

function ownerOf(
  { groups, used, subject, reachedDeny, forgejo }: RecordedCase,
  index: number,
): RecordedOwner {
  const name = `${index % 5 === 4 ? 'org' : 'user'}${index}`;
  const renamed = groups.map(group => ({
    name: `${name} ${group.name}`,
    rules: group.rules.map(rule => ({ ...rule, name: `${name} ${rule.name}` })),
  }));
  const answers = new Map([[subject, forgejo ?? reachedDeny]]);
  return { name, type: index % 5 === 4 ? 'organization' : 'user', used, groups: renamed, answers };
}

function loginOf({ name }: RecordedOwner) {
  return { id: 1, login: name, username: name };
}

function treeOf(used: RecordedOwner['used']) {
  const bytes = (leaf: string) => used[leaf] ?? 0;
  return {
    size: {
      repos: { public: bytes('size:repos:public'), private: bytes('size:repos:private') },
      git: { LFS: bytes('size:git:lfs') },
      assets: {
        attachments: {
          issues: bytes('size:assets:attachments:issues'),
          releases: bytes('size:assets:attachments:releases'),
        },
        artifacts: bytes('size:assets:artifacts'),
        packages: { all: bytes('size:assets:packages:all') },
      },
    },
  };
}

const above: Readonly<Record<string, readonly string[]>> = {
  'size:git:all': ['size:all'],
  'size:assets:all': ['size:all'],
  'size:repos:all': ['size:git:all', 'size:all'],
  'size:git:lfs': ['size:git:all', 'size:all'],
  'size:repos:public': ['size:repos:all', 'size:git:all', 'size:all'],
  'size:repos:private': ['size:repos:all', 'size:git:all', 'size:all'],
  'size:assets:attachments:all': ['size:assets:all', 'size:all'],
  'size:assets:attachments:issues': ['size:assets:attachments:all', 'size:assets:all', 'size:all'],
  'size:assets:attachments:releases': ['size:assets:attachments:all', 'size:assets:all', 'size:all'],
  'size:assets:artifacts': ['size:assets:all', 'size:all'],
  'size:assets:packages:all': ['size:assets:all', 'size:all'],
  'size:assets:wiki': ['size:assets:all', 'size:all'],
};

/** What was not recorded of an owner. */
function evaluated({ groups, used }: RecordedOwner, subject: string): boolean {
  if (groups.length === 0) return true;
  const bytes = (named: string) =>
    Object.entries(used)
      .filter(([leaf]) => leaf === named || above[leaf]?.includes(named))
      .reduce((sum, [, size]) => sum + size, 0);
  return groups.some(({ rules }) => {
    const covering = rules.filter(({ subjects }) =>
      [subject, ...(above[subject] ?? [])].some(each => subjects.includes(each)),
    );
    return (
      covering.length > 0 &&
      covering.every(
        ({ limit, subjects }) => limit === -1 || subjects.reduce((sum, each) => sum + bytes(each), 0) < limit,
      )
    );
  });
}
