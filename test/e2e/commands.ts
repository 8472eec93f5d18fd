/** Commands of softquota's, run to their end. */

import { type ChildProcess, fork } from 'node:child_process';
import { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { isLong } from '../run-length.ts';
import { launcher } from './daemon.ts';
import { plainEnvironment, type Run, type RunOptions, run } from './run.ts';

export interface CommandLine {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

export type Ended = Omit<Run, 'elapsedMs' | 'code'> & { readonly code: number };

const program = fileURLToPath(new URL('command-program.ts', import.meta.url));

/** These become another program or another user, or run until a signal ends them. */
const ofTheirOwn = ['serve', 'worker', 'receive-pack', 'playground', 'restore'];

/** As many command lines run at a time; others wait. */
const most = 3;
const idle: Commands[] = [];
const waiting: ((commands: Commands) => void)[] = [];
let started = 0;

/**
 * Runs a command line to its end. Each is a process of its own in a long run. In an ordinary one, many of them
 * run in one process, one after the other: a command takes less time than its start.
 */
export async function softquota(args: readonly string[], options: RunOptions = {}): Promise<Run> {
  const { cwd = process.cwd(), env = {}, ...others } = options;
  const isPlain =
    Object.keys(others).length === 0 && Object.keys(env).every(name => name.startsWith('SOFTQUOTA_'));
  if (isLong || !isPlain || args.some(word => ofTheirOwn.includes(word)))
    return run(process.execPath, [launcher, ...args], options);
  const startedAt = performance.now();
  const commands = idle.pop() ?? (await another());
  const ended = await commands.run({ args, cwd, env: { ...plainEnvironment, ...env } });
  const next = waiting.shift();
  if (next === undefined) idle.push(commands);
  else next(commands);
  return { ...ended, elapsedMs: performance.now() - startedAt };
}

async function another(): Promise<Commands> {
  if (started === most) return new Promise(resolve => waiting.push(resolve));
  started += 1;
  return new Commands();
}

/** A process that runs one command line at a time. It does not keep the tests from their end. */
class Commands {
  readonly #child: ChildProcess;

  constructor() {
    // Not files, which commands would write past what takes their words.
    const child = fork(program, {
      env: { ...plainEnvironment },
      execArgv: ['--no-warnings'],
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    for (const stream of [child.stdout, child.stderr])
      if (stream instanceof Socket) stream.unref().on('data', chunk => process.stderr.write(chunk));
    this.#child = child;
  }

  run(line: CommandLine): Promise<Ended> {
    const child = this.#child;
    child.ref();
    child.channel?.ref();
    return new Promise((resolve, reject) => {
      const onExit = () => reject(new Error(`the process ended at softquota ${line.args.join(' ')}`));
      child.once('exit', onExit).once('message', message => {
        child.off('exit', onExit).unref();
        child.channel?.unref();
        // As the program writes it.
        resolve(message as Ended);
      });
      child.send(line);
    });
  }
}
