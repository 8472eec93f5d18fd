/** Commands of softquota's, run to their end. */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
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

/**
 * The words of a line as a shell has them, where only double quotes are used, unless they are divided
 * already.
 */
export function wordsOf(line: string | readonly string[]): readonly string[] {
  if (typeof line !== 'string') return line;
  return Array.from(line.matchAll(/"([^"]*)"|\S+/g), ([word, quoted]) => quoted ?? word);
}

const program = fileURLToPath(new URL('command-program.ts', import.meta.url));

/** These become another program or another user, or run until a signal ends them. */
const ofTheirOwn = ['serve', 'worker', 'receive-pack', 'playground', 'restore'];

/** Number of command lines that run at a time; others wait. */
const most = 3;
const idle: Commands[] = [];
const waiting: ((commands: Commands) => void)[] = [];
let started = 0;

/**
 * Runs a command line to its end. Each is a process of its own in a long run. In an ordinary one, many of
 * them run in one process, one after the other: a command takes less time than its start.
 */
export async function softquota(line: string | readonly string[], options: RunOptions = {}): Promise<Run> {
  const args = typeof line === 'string' ? wordsOf(line) : line;
  const { cwd = process.cwd(), env = {}, ...others } = options;
  const isPlain =
    Object.keys(others).length === 0 && Object.keys(env).every(name => name.startsWith('SOFTQUOTA_'));
  if (isLong || !isPlain || args.some(word => ofTheirOwn.includes(word)))
    return run(process.execPath, [launcher, ...args], options);
  const startedAt = performance.now();
  const commands = idle.pop() ?? (await nextFree());
  const ended = await commands.run({ args, cwd, env: { ...plainEnvironment, ...env } });
  const next = waiting.shift();
  if (next === undefined) idle.push(commands);
  else next(commands);
  return { ...ended, elapsedMs: performance.now() - startedAt };
}

/** Runs a command line as a user who has no rights. */
export const asNobody = (args: string | readonly string[], options: RunOptions = {}): Promise<Run> => {
  const nobody = ['--reuid=65534', '--regid=65534', '--clear-groups', process.execPath, launcher];
  return run('setpriv', [...nobody, ...wordsOf(args)], { cwd: '/', ...options });
};

/** A process of its own, or the next that has nothing to do. */
async function nextFree(): Promise<Commands> {
  if (started === most) return new Promise(resolve => waiting.push(resolve));
  started += 1;
  return new Commands();
}

/**
 * A process that runs one command line at a time. It does not keep the tests from their end, and ends with
 * them; if it ends before, the test file fails.
 */
class Commands {
  readonly #child: ChildProcess;
  /** Words past the command's own streams, such as those of a program that it started. */
  #strays = { stdout: '', stderr: '' };
  #line = '';
  #isOver = false;

  constructor() {
    // Pipes, since into a file a command writes past the streams that the process listens at.
    const child = fork(program, {
      env: { ...plainEnvironment },
      execArgv: ['--no-warnings'],
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    for (const name of ['stdout', 'stderr'] as const) {
      const stream = child[name];
      if (stream instanceof Socket)
        stream
          .unref()
          .setEncoding('utf8')
          .on('data', (text: string) => {
            this.#strays[name] += text;
          });
    }
    child.on('exit', (code, signal) => {
      if (!this.#isOver) throw new Error(`softquota ${this.#line}: the process ended: ${code ?? signal}`);
    });
    // Waited for, so that its time counts as that of the test file.
    process.once('beforeExit', () => {
      this.#isOver = true;
      child.ref();
      if (child.connected) child.disconnect();
    });
    this.#child = child;
  }

  async run(line: CommandLine): Promise<Ended> {
    const child = this.#child;
    this.#line = line.args.join(' ');
    this.#strays = { stdout: '', stderr: '' };
    child.ref();
    child.channel?.ref();
    child.send(line);
    // The program sends it in this form.
    const [ended] = (await once(child, 'message')) as [Ended];
    // Words that the pipes brought before it are read once the loop has looked at them.
    for (let turns = 0; turns < 2; turns += 1) await new Promise(resolve => setImmediate(resolve));
    child.unref();
    child.channel?.unref();
    const { stdout, stderr } = this.#strays;
    return { ...ended, stdout: ended.stdout + stdout, stderr: ended.stderr + stderr };
  }
}
