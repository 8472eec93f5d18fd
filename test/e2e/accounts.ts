/** The API of a running daemon over HTTP: where it is, and who may use it. */

import { z } from 'zod';
import type { Server } from './server.ts';

const createdToken = z.object({ sha1: z.string() });

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
  await create(server, '/api/v1/admin/users', { username, is_admin: isAdmin });
  return tokenOf(server, username, scopes);
}

/** One more token of a user's. */
export async function tokenOf(server: Server, username: string, scopes: readonly string[]): Promise<string> {
  const path = `/api/v1/users/${encodeURIComponent(username)}/tokens`;
  const created = await create(server, path, { name: `a token for ${scopes.join(', ')}`, scopes });
  return createdToken.parse(created).sha1;
}

/** The status of the answer to a GET with this token; `path` is below /api/v1. */
export async function statusWith(server: Server, token: string, path: string): Promise<number> {
  const address = new URL(`api/v1${path}`, await addressOf(server));
  const { status, body } = await fetch(address, { headers: { Authorization: `token ${token}` } });
  await body?.cancel();
  return status;
}

async function create(server: Server, path: string, body: object): Promise<unknown> {
  const { status, text } = await server.ask('admin', path, { body });
  if (status !== 201) throw new Error(`POST ${path}: ${status} ${text}`);
  return JSON.parse(text);
}
