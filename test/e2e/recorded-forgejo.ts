/**
 * A server with the policy of the Forgejo with which test/vectors/evaluation.json was recorded: each case is
 * a user with groups of their own.
 */

import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { Test } from 'tap';
import { z } from 'zod';
import { served } from '../served.ts';

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

export type RecordedCase = z.infer<typeof recordedCase>;

/** The recorded decisions for owners in groups, or without any and without a default limit. */
export function recordedCases(): readonly RecordedCase[] {
  const text = readFileSync(new URL('../vectors/evaluation.json', import.meta.url), 'utf8');
  const { cases } = z.object({ cases: z.array(recordedCase) }).parse(JSON.parse(text));
  return cases.filter(({ defaultTotal }) => defaultTotal === -1);
}

export interface RecordedOwner extends RecordedCase {
  readonly name: string;
}

export class RecordedForgejo {
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
