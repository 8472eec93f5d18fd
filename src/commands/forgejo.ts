/**
 * Reads the quota rules, groups and members of a Forgejo server.
 *
 * Uses the routes below `/admin/quota`, which Forgejo has had since version 9. The token has to be an
 * administrator's.
 */

import { z } from 'zod';
import { type ErrorCode, messageOf, SoftquotaError } from '../errors.ts';
import { jsonOf } from '../parsed.ts';
import { issueLines, printable } from '../text.ts';
import { limit, type NewWholePolicy, rule } from '../wire/index.ts';
import { messageIn, pathStep } from './client.ts';
import { readWhole } from './files.ts';

const knownRule = rule.extend({ limit, per: rule.shape.per.optional() });
const knownGroup = z.object({ name: z.string(), rules: z.array(knownRule) });

const login = z.object({ login: z.string().optional(), username: z.string().optional() });

const mostBytes = 64 * 1024 * 1024;
const answerMs = 30_000;

interface Server {
  /** Has no user and password, which are neither shown nor sent. */
  readonly address: string;
  readonly token: string;
}

/**
 * The policy of a Forgejo: its rules, its groups, and their members. `from` is the address that people open,
 * such as `https://git.example/`. Rejects with `usage` for an invalid address or token, with `input_output`
 * for a file that cannot be read, and as `get` does.
 */
export async function policyOfForgejo(from: string, tokenFile: string | undefined): Promise<NewWholePolicy> {
  const server = serverOf(from, tokenFile);
  const groups: NewWholePolicy['groups'][number][] = [];
  for (const { name, rules } of await get(server, '/admin/quota/groups', z.array(knownGroup))) {
    const users = await get(server, `/admin/quota/groups/${pathStep(name)}/users`, z.array(login));
    groups.push({
      name,
      rules: rules.map(rule => rule.name),
      users: users.map(({ login: known, username }) => known ?? username ?? ''),
    });
  }
  return { rules: await get(server, '/admin/quota/rules', z.array(knownRule)), groups };
}

function serverOf(from: string, tokenFile: string | undefined): Server {
  const url = URL.parse(from);
  if (url === null || !/^https?:$/.test(url.protocol)) {
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
  return { address: `${url.protocol}//${url.host}${url.pathname.replace(/\/$/, '')}`, token };
}

/** Rejects with `unreachable`, `unauthenticated`, `not_permitted` or `not_found`; each names the route. */
async function get<T>({ address, token }: Server, path: string, schema: z.ZodType<T>): Promise<T> {
  const where = `${address}: GET /api/v1${path}`;
  const unreachable = (why: string, cause?: unknown) =>
    new SoftquotaError('unreachable', printable(`${where}: ${why}`), { cause });
  let status: number;
  let text: string;
  try {
    const response = await fetch(`${address}/api/v1${path}`, {
      headers: { Accept: 'application/json', Authorization: `token ${token}` },
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
    const words = `status ${status}${said === '' ? '' : `: ${said}`}`;
    const [code, hint] = refusals[status] ?? ['unreachable', ''];
    const isMoved = status >= 300 && status < 400;
    const mend = isMoved ? '; give the address that it leads to' : hint;
    throw new SoftquotaError(code, printable(`${where}: ${words}${mend}`));
  }
  const read = schema.safeParse(json);
  if (!read.success) throw unreachable(`not the answer of a Forgejo: ${issueLines(read.error).join('; ')}`);
  return read.data;
}

/** The code and a hint for each status that has one. */
const refusals: Readonly<Record<number, readonly [ErrorCode, hint: string]>> = {
  401: ['unauthenticated', ''],
  403: ['not_permitted', ' (the token needs an administrator and the scope read:admin)'],
  404: ['not_found', ' (it needs Forgejo 9 or later with [quota] ENABLED = true)'],
};

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
