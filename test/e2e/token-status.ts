/** Asks the daemon with a token over HTTP, to see whether it takes it. */

import type { Server } from './server.ts';

/** The status of the answer to a GET with this token; `path` is below /api/v1. */
export async function statusWith(server: Server, token: string, path: string): Promise<number> {
  const { http } = await server.daemon.logged(/^softquota answers/);
  const address = new URL(`api/v1${path}`, String(http));
  const answer = await fetch(address, { headers: { Authorization: `token ${token}` } });
  await answer.body?.cancel();
  return answer.status;
}
