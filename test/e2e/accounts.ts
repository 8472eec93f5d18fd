/** The API of a running daemon over HTTP: where it is, and who may use it. */

import { createdToken } from '../../src/wire/index.ts';
import type { Server } from './server.ts';

/** Address that the daemon serves HTTP at; ends with a slash. */
export async function addressOf({ daemon }: Server): Promise<string> {
  return String((await daemon.logged(/^softquota answers/)).http);
}

interface AccountOptions {
  readonly isAdmin?: boolean;
  readonly scopes?: readonly string[];
}

/** Creates a user, and gives a token of theirs. This host's administrator does both. */
export async function account(
  server: Server,
  username: string,
  { isAdmin = false, scopes = ['all'] }: AccountOptions = {},
): Promise<string> {
  await server.admin('/admin/users', { body: { username, is_admin: isAdmin } });
  return tokenOf(server, username, scopes);
}

/** One more token of a user's. */
export async function tokenOf(server: Server, username: string, scopes: readonly string[]): Promise<string> {
  const body = { name: `a token for ${scopes.join(', ')}`, scopes };
  const created = await server.admin(`/users/${encodeURIComponent(username)}/tokens`, { body });
  return createdToken.parse(created).sha1;
}

/** The status of the answer to a GET with this token; `path` is below /api/v1. */
export async function statusWith(server: Server, token: string, path: string): Promise<number> {
  const address = new URL(`api/v1${path}`, await addressOf(server));
  const { status, body } = await fetch(address, { headers: { Authorization: `token ${token}` } });
  await body?.cancel();
  return status;
}
