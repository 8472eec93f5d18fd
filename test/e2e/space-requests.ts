/** Requests for more space, made by users over HTTP. */

import { spaceRequest } from '../../src/wire/index.ts';
import { account, addressOf, tokenOf } from './accounts.ts';
import type { Server } from './server.ts';

interface Asker {
  readonly token: string;
  /** The id of the request. */
  readonly id: string;
}

export const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString();

/** Has each of these users ask for 5 MB, for an hour. Creates those who are missing. */
export async function askForMore(server: Server, names: readonly string[]): Promise<readonly Asker[]> {
  const http = await addressOf(server);
  const askers: Asker[] = [];
  for (const name of names) {
    const found = await server.ask('admin', `/api/v1/admin/users/${name}`);
    const token = await (found.status === 404 ? account(server, name) : tokenOf(server, name, ['all']));
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
