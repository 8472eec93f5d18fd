/** A client that sends a push whole and hangs up before it hears what became of it. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Clone } from './clone.ts';
import { plainEnvironment } from './run.ts';

const noObject = '0'.repeat(40);

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
  const pack = await clone.pack(commit);
  const server = spawn('git', ['receive-pack', repository], { env: plainEnvironment });
  let said = '';
  server.stderr.on('data', chunk => {
    said += chunk;
  });
  const ended = once(server, 'close');
  server.stdin.on('error', () => {}); // it need not read to the end what it refuses
  await advertised(server.stdout);
  const command = `${noObject} ${commit} refs/heads/${branch}\0report-status`;
  const length = (command.length + 4).toString(16).padStart(4, '0');
  server.stdin.write(`${length}${command}0000`);
  // Nobody reads what it says from here on: the first word of its report ends it by SIGPIPE.
  server.stdout.destroy();
  server.stdin.end(pack);
  const [, signal] = await ended;
  return { signal, refused: said.includes('Quota exceeded') };
}

/** Resolves once all refs were told. */
async function advertised(stdout: NodeJS.ReadableStream): Promise<void> {
  let tail = '';
  while (!tail.endsWith('0000')) {
    const [chunk] = await once(stdout, 'data');
    tail = (tail + String(chunk)).slice(-4);
  }
}
