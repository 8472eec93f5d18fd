/** Requests for more space, made by users over HTTP. */

import { z } from 'zod';
import { createdToken, spaceRequest } from '../../src/wire/index.ts';
import type { Server } from './server.ts';

export interface Asker {
  readonly token: string;
  /** The id of the request. */
  readonly id: string;
}

export const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString();

/** Has each of these users, who are created where they are missing, ask for 5 MB until in an hour. */
export async function askForMore(server: Server, names: readonly string[]): Promise<readonly Asker[]> {
  const { http } = z.object({ http: z.string() }).parse(await server.daemon.logged(/^softquota answers/));
  const askers: Asker[] = [];
  for (const name of names) {
    const found = await server.ask('admin', `/api/v1/admin/users/${name}`);
    if (found.status === 404) await server.ask('admin', '/api/v1/admin/users', { body: { username: name } });
    const made = await server.ask('admin', `/api/v1/users/${name}/tokens`, {
      body: { name: 'asks', scopes: ['all'] },
    });
    const { sha1: token } = createdToken.parse(JSON.parse(made.text));
    const answer = await fetch(new URL('api/v1/user/quota/requests', http), {
      method: 'POST',
      headers: { Authorization: `token ${token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ bytes: 5_000_000, until: inAnHour(), why: 'the release needs it' }),
    });
    const { id } = spaceRequest.parse(await answer.json());
    askers.push({ token, id });
  }
  return askers;
}
