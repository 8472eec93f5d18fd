/**
 * Asks a Forgejo server for its quotas: rules, groups, members, usage, and its answers.
 *
 * Its routes are those that Forgejo has had since version 9: `/admin/quota/…` for the policy,
 * `/admin/users` and `/admin/orgs` for the owners, `/user/quota/check` and `/orgs/{org}/quota/check` for
 * decisions. The token has to be an administrator's; what a user may do is asked in the user's name.
 */

import { z } from 'zod';
import { messageOf, SoftquotaError } from '../errors.ts';
import { type Leaf, type Subject, type Usage, usageOf } from '../quota/index.ts';
import { issueLines, printable } from '../text/index.ts';
import { limit, rule } from '../wire/index.ts';
import { messageIn, pathStep } from './client.ts';
import { readWhole } from './files.ts';

export interface ForgejoOption {
  /** The address that people open, such as `https://git.example/`. */
  readonly from?: string;
  readonly tokenFile?: string;
}

export interface ForgejoOwner {
  readonly name: string;
  readonly type: 'user' | 'organization';
}

const knownRule = rule.extend({ limit });
const knownGroup = z.object({ name: z.string(), rules: z.array(knownRule) });

export type ForgejoRule = z.infer<typeof knownRule>;
export type ForgejoGroup = z.infer<typeof knownGroup>;

const bytes = z.number().int().min(0);
const login = z.object({ login: z.string().optional(), username: z.string().optional() });
const quota = z.object({
  used: z.object({
    size: z.object({
      repos: z.object({ public: bytes, private: bytes }),
      git: z.object({ LFS: bytes }),
      assets: z.object({
        attachments: z.object({ issues: bytes, releases: bytes }),
        artifacts: bytes,
        packages: z.object({ all: bytes }),
      }),
    }),
  }),
  groups: z.array(knownGroup).nullable(),
});

/** Forgejo gives at most so many at a time, unless its administrator says otherwise. */
const pageSize = 50;
const mostPages = 100_000;
const mostBytes = 64 * 1024 * 1024;
const answerMs = 30_000;

export class Forgejo {
  readonly #base: string;
  readonly #shown: string;
  readonly #token: string;

  /** Throws `usage` for an address or a token that can be none, `input_output` for a file that cannot be read. */
  constructor({ from = '', tokenFile }: ForgejoOption) {
    const address = URL.parse(from);
    if (address === null || !/^https?:$/.test(address.protocol)) {
      throw new SoftquotaError('usage', '--from: expected an address such as https://git.example/');
    }
    if (tokenFile === undefined) {
      throw new SoftquotaError(
        'usage',
        '--token-file is missing: expected a file with a token of an administrator of that server; - is standard input',
      );
    }
    const token = readWhole(tokenFile).trim();
    if (!/^[!-~]+$/.test(token)) {
      throw new SoftquotaError('usage', `${printable(tokenFile)}: expected a token, alone on one line`);
    }
    const path = address.pathname.replace(/\/$/, '');
    // A password in the address is not shown, and not sent.
    this.#shown = `${address.protocol}//${address.host}${path}`;
    this.#base = `${this.#shown}/api/v1`;
    this.#token = token;
  }

  get address(): string {
    return this.#shown;
  }

  rules(): Promise<readonly ForgejoRule[]> {
    return this.#get('/admin/quota/rules', z.array(knownRule));
  }

  groups(): Promise<readonly ForgejoGroup[]> {
    return this.#get('/admin/quota/groups', z.array(knownGroup));
  }

  /** The names of the members of a group. */
  async members(group: string): Promise<readonly string[]> {
    const users = await this.#get(`/admin/quota/groups/${pathStep(group)}/users`, z.array(login));
    return users.map(nameOf);
  }

  /** All users and organizations, in the order of the server. */
  async owners(): Promise<readonly ForgejoOwner[]> {
    const users = await this.#pages('/admin/users');
    const organizations = await this.#pages('/admin/orgs');
    return [
      ...users.map(name => ({ name, type: 'user' as const })),
      ...organizations.map(name => ({ name, type: 'organization' as const })),
    ];
  }

  /** The usage of an owner, without wikis, which Forgejo does not count; and the groups that affect it. */
  async quotaOf(name: string): Promise<{ readonly usage: Usage; readonly groups: readonly ForgejoGroup[] }> {
    const { used, groups } = await this.#get(`/admin/users/${pathStep(name)}/quota`, quota);
    const { repos, git, assets } = used.size;
    const usage = usageOf({
      'size:repos:public': repos.public,
      'size:repos:private': repos.private,
      'size:git:lfs': git.LFS,
      'size:assets:attachments:issues': assets.attachments.issues,
      'size:assets:attachments:releases': assets.attachments.releases,
      'size:assets:artifacts': assets.artifacts,
      'size:assets:packages:all': assets.packages.all,
    } satisfies Partial<Record<Leaf, number>>);
    return { usage, groups: groups ?? [] };
  }

  /** Tells whether the owner may start something that grows this kind of data, as that server answers. */
  allows({ name, type }: ForgejoOwner, subject: Subject): Promise<boolean> {
    const query = `quota/check?subject=${encodeURIComponent(subject)}`;
    return type === 'organization'
      ? this.#get(`/orgs/${pathStep(name)}/${query}`, z.boolean())
      : this.#get(`/user/${query}`, z.boolean(), { Sudo: name });
  }

  async #pages(path: string): Promise<readonly string[]> {
    const names: string[] = [];
    for (let page = 1; page <= mostPages; page++) {
      const found = await this.#get(`${path}?page=${page}&limit=${pageSize}`, z.array(login));
      // A server may give fewer than it was asked for, so only an empty page is the last one.
      if (found.length === 0) return names;
      names.push(...found.map(nameOf));
    }
    throw new SoftquotaError('unreachable', `${this.#shown}${path} has more than ${mostPages} pages`);
  }

  /** Rejects with `unreachable`, `unauthenticated`, `not_permitted` or `not_found`; each names the route. */
  async #get<T>(path: string, schema: z.ZodType<T>, headers: Record<string, string> = {}): Promise<T> {
    const where = `${this.#shown}: GET /api/v1${path}`;
    const unreachable = (why: string, cause?: unknown) =>
      new SoftquotaError('unreachable', printable(`${where}: ${why}`), { cause });
    let status: number;
    let text: string;
    try {
      const response = await fetch(this.#base + path, {
        headers: { ...headers, Accept: 'application/json', Authorization: `token ${this.#token}` },
        // The token is for the server that was named, and for no other.
        redirect: 'manual',
        signal: AbortSignal.timeout(answerMs),
      });
      status = response.status;
      text = await textOf(response);
    } catch (error) {
      throw unreachable(messageOf(error instanceof Error && error.cause ? error.cause : error), error);
    }
    const json = jsonOf(text);
    if (status !== 200) {
      const said = messageIn(json) ?? '';
      const words = `${where}: status ${status}${said === '' ? '' : `: ${said}`}`;
      if (status === 401) throw new SoftquotaError('unauthenticated', printable(words));
      if (status === 403) throw new SoftquotaError('not_permitted', printable(`${words} (${rightsNeeded})`));
      if (status === 404) throw new SoftquotaError('not_found', printable(`${words} (${quotaNeeded})`));
      throw unreachable(`status ${status}${said === '' ? '' : `: ${said}`}${redirection(status)}`);
    }
    const read = schema.safeParse(json);
    if (!read.success) throw unreachable(`not the answer of a Forgejo: ${issueLines(read.error).join('; ')}`);
    return read.data;
  }
}

const rightsNeeded =
  'the token needs an administrator and the scopes read:admin, read:user and read:organization';
const quotaNeeded = 'it needs Forgejo 9 or later with [quota] ENABLED = true';

function redirection(status: number): string {
  return status >= 300 && status < 400 ? '; give the address that it leads to' : '';
}

async function textOf(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > mostBytes) throw new Error(`the answer is larger than ${mostBytes} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function nameOf({ login: name, username }: z.infer<typeof login>): string {
  return name ?? username ?? '';
}
