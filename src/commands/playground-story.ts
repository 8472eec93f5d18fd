/** The story: lines for a shell, and what is to be seen when they are run in this order. */

import { relative } from 'node:path';
import { runProgram } from '../bounded/index.ts';
import { SoftquotaError } from '../errors.ts';
import { shellQuoted } from '../text/index.ts';
import type { World } from './playground-world.ts';

interface Scene {
  /** Title of the step, in a line. */
  readonly title: string;
  /** One line for a shell. */
  readonly line: string;
  readonly succeeds: boolean;
  /** Pattern that its output matches. */
  readonly shows: RegExp;
}

/**
 * `command`: how this softquota is called. Paths are relative to the current directory where that is shorter.
 */
export function story(world: World, command: string): readonly Scene[] {
  const beside = relative(process.cwd(), world.directory);
  const at = shellQuoted(beside.startsWith('..') || beside === '' ? world.directory : beside);
  const push = (owner: string, file: string, kilobytes: number) =>
    `(cd ${at}/work/${owner} && head -c ${kilobytes}000 /dev/urandom > ${file} && git add ${file} && git commit -qm ${file} && git push)`;
  const config = `--config ${at}/app.ini`;
  return [
    {
      title: 'The usage of all owners: alice is over her limit of 1 MB, bob is near his.',
      line: `${command} usage ${config}`,
      succeeds: true,
      shows: /alice\b.{1,200}\bover the limit/,
    },
    {
      title: 'carol pushes, and sees no message.',
      line: push('carol', 'more.bin', 20),
      succeeds: true,
      shows: /main -> main/,
    },
    {
      title: 'bob pushes, and sees a warning.',
      line: push('bob', 'more.bin', 20),
      succeeds: true,
      shows: /Quota warning: bob uses .{1,20} of 1 MB/,
    },
    {
      title: 'alice pushes, and is refused: the message shows the usage, the limit, and the next step.',
      line: push('alice', 'more.bin', 20),
      succeeds: false,
      shows: /Quota exceeded: alice uses .{1,20} of 1 MB/,
    },
    {
      title: 'alice can still clean up: deleting a branch is never refused.',
      line: `git -C ${at}/work/alice push origin --delete videos`,
      succeeds: true,
      shows: /\[deleted\]/,
    },
    {
      title: "The server's garbage collection frees the space, and the daemon measures again.",
      line: `git -C ${at}/git/alice/site.git gc -q --prune=now && ${command} scan alice ${config}`,
      succeeds: true,
      shows: /Measured/,
    },
    {
      title: 'The refused push is allowed now.',
      line: `git -C ${at}/work/alice push`,
      succeeds: true,
      shows: /main -> main/,
    },
  ];
}

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
