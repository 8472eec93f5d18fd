/** Programs run to their end, in an environment that nothing of the tester's own reaches. */

import { spawn } from 'node:child_process';

export interface Run {
  /** Null where a signal ended it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly elapsedMs: number;
}

export interface RunOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string | Buffer;
  /** Encoding of the output; UTF-8 unless given. */
  readonly encoding?: 'latin1';
  /** Leaves nothing in the environment but `env` and a search path. */
  readonly bare?: boolean;
}

/** Author and committer of all commits. */
export const identity: Readonly<Record<string, string>> = {
  GIT_AUTHOR_NAME: 'Somebody',
  GIT_AUTHOR_EMAIL: 'somebody@git.example',
  GIT_COMMITTER_NAME: 'Somebody',
  GIT_COMMITTER_EMAIL: 'somebody@git.example',
};

/** Folder of Node's compile cache, so that the hundreds of programs of a run start quickly. */
const { NODE_COMPILE_CACHE } = process.env;

/** All that a child of the tests is given: a search path, an identity, and no settings of git's. */
export const plainEnvironment: Readonly<Record<string, string>> = {
  PATH: `${process.env.PATH ?? ''}:/usr/sbin`,
  HOME: '/nonexistent',
  LC_ALL: 'C.UTF-8',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  ...identity,
  ...(NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }),
};

/** Runs programs, on this host or another. */
export type Runner = (command: string, args: readonly string[], options?: RunOptions) => Promise<Run>;

export function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<Run> {
  return new Promise((resolve, reject) => {
    const started = performance.now();
    const child = spawn(command, args, {
      cwd: options.cwd,
      env: options.bare
        ? { PATH: process.env.PATH, ...options.env }
        : { ...plainEnvironment, ...options.env },
    });
    const output: Buffer[] = [];
    const errors: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => output.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => errors.push(chunk));
    child.stdin.on('error', () => {}); // it need not read what it is given
    child.stdin.end(options.input ?? '');
    child.on('error', reject).on('close', code => {
      resolve({
        code,
        stdout: Buffer.concat(output).toString(options.encoding),
        stderr: Buffer.concat(errors).toString(),
        elapsedMs: performance.now() - started,
      });
    });
  });
}

/** Returns the standard output of a program; rejects if it failed. */
export async function must(
  command: string,
  args: readonly string[],
  options: RunOptions = {},
  runner: Runner = run,
): Promise<string> {
  const { code, stdout, stderr } = await runner(command, args, options);
  if (code !== 0) throw new Error(`${command} ${args.join(' ')}: exit ${code}\n${stdout}${stderr}`);
  return stdout.trim();
}
