/** Plays the story: runs each line, and checks that what it says is what happens. */

import { runProgram } from '../bounded/index.ts';
import { SoftquotaError } from '../errors.ts';
import type { Scene } from './playground-story.ts';

/** A line pushes some kilobytes, or measures a few files. */
const timeoutMs = 60_000;

/** Tells each scene as it is played; throws `conflict` at the first that goes another way. */
export async function play(scenes: readonly Scene[], tell: (text: string) => void): Promise<void> {
  for (const { title, line, succeeds, shows } of scenes) {
    tell(`# ${title}\n${line}\n`);
    const { status, output } = await runProgram('sh', ['-c', `exec 2>&1; ${line}`], {
      timeoutMs,
      cwd: process.cwd(),
      env: process.env,
    });
    tell(`${output.trimEnd()}\n\n`);
    if ((status === 0) !== succeeds) {
      throw new SoftquotaError(
        'conflict',
        `this command should ${succeeds ? 'succeed' : 'be refused'}, but its exit status was ${status}`,
      );
    }
    if (!shows.test(output)) throw new SoftquotaError('conflict', `this command should show ${shows.source}`);
  }
}
