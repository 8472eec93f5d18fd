/** A client that sends a push whole and hangs up before it hears what became of it. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Clone } from './clone.ts';
import { advertised, wholePush } from './raw-push.ts';
import { plainEnvironment } from './run.ts';

/** End of receive-pack; `refused` where its hook said no. */
export interface HangUp {
  readonly signal: NodeJS.Signals | null;
  readonly refused: boolean;
}

/**
 * Pushes `commit` as a new branch to a repository on this host, as `git push` speaks, but reads nothing
 * back.
 */
export async function pushAndHangUp(
  clone: Clone,
  repository: string,
  commit: string,
  branch: string,
): Promise<HangUp> {
  const whole = await wholePush(clone, commit, branch);
  const server = spawn('git', ['receive-pack', repository], { env: plainEnvironment });
  let said = '';
  server.stderr.on('data', chunk => {
    said += chunk;
  });
  const ended = once(server, 'close');
  server.stdin.on('error', () => {}); // it need not read to the end what it refuses
  await advertised(server.stdout);
  // Nobody reads what it says from here on: the first word of its report ends it by SIGPIPE.
  server.stdout.destroy();
  server.stdin.end(whole);
  const [, signal] = await ended;
  return { signal, refused: said.includes('Quota exceeded') };
}
