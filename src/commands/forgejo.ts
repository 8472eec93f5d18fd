/**
 * Asks a Forgejo server for its quotas: rules, groups and members.
 *
 * Its routes are those that Forgejo has had since version 9, below `/admin/quota`. The token has to be an
 * administrator's.
 */

import { z } from 'zod';
import { messageOf, SoftquotaError } from '../errors.ts';
import { issueLines, printable } from '../text/index.ts';
import { limit, rule } from '../wire/index.ts';
import { messageIn, pathStep } from './client.ts';
import { readWhole } from './files.ts';

export interface ForgejoOption {
  /** The address that people open, such as `https://git.example/`. */
  readonly from?: string;
  readonly tokenFile?: string;
}

const knownRule = rule.extend({ limit });
const knownGroup = z.object({ name: z.string(), rules: z.array(knownRule) });

const login = z.object({ login: z.string().optional(), username: z.string().optional() });

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

  rules(): Promise<readonly z.infer<typeof knownRule>[]> {
    return this.#get('/admin/quota/rules', z.array(knownRule));
  }

  groups(): Promise<readonly z.infer<typeof knownGroup>[]> {
    return this.#get('/admin/quota/groups', z.array(knownGroup));
  }

  /** The names of the members of a group. */
  async members(group: string): Promise<readonly string[]> {
    const users = await this.#get(`/admin/quota/groups/${pathStep(group)}/users`, z.array(login));
    return users.map(({ login: name, username }) => name ?? username ?? '');
  }

  /** Rejects with `unreachable`, `unauthenticated`, `not_permitted` or `not_found`; each names the route. */
  async #get<T>(path: string, schema: z.ZodType<T>): Promise<T> {
    const where = `${this.#shown}: GET /api/v1${path}`;
    const unreachable = (why: string, cause?: unknown) =>
      new SoftquotaError('unreachable', printable(`${where}: ${why}`), { cause });
    let status: number;
    let text: string;
    try {
      const response = await fetch(this.#base + path, {
        headers: { Accept: 'application/json', Authorization: `token ${this.#token}` },
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

const rightsNeeded = 'the token needs an administrator and the scope read:admin';
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
