/** Plays the story: runs each line, and checks that what it says is what happens. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { SoftquotaError } from '../errors.ts';
import type { Scene } from './story.ts';

/** Tells each scene as it is played; throws `conflict` at the first that goes another way. */
export async function play(scenes: readonly Scene[], tell: (text: string) => void): Promise<void> {
  for (const { title, line, succeeds, shows } of scenes) {
    tell(`# ${title}\n${line}\n`);
    const { status, output } = await run(line);
    tell(`${output.trimEnd()}\n\n`);
    if ((status === 0) !== succeeds) {
      throw new SoftquotaError(
        'conflict',
        `that line should ${succeeds ? 'pass' : 'be refused'}, its exit status was ${status}`,
      );
    }
    if (!shows.test(output)) throw new SoftquotaError('conflict', `that line should show ${shows.source}`);
  }
}

async function run(line: string): Promise<{ readonly status: number | null; readonly output: string }> {
  const child = spawn('sh', ['-c', `exec 2>&1; ${line}`], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  await once(child, 'close');
  return { status: child.exitCode, output };
}
