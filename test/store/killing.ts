/** Starts the endless writer, and kills it. */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export const writerProgram = join(import.meta.dirname, 'endless-writer.ts');

export function startWriter(file: string): ChildProcess {
  return spawn(process.execPath, [writerProgram, file], { stdio: ['ignore', 'pipe', 'inherit'] });
}

/** Error of a writer that cannot start; one that does start is stopped, and has no exit code. */
export function refusedWriter(file: string, runner: readonly string[] = []) {
  const [command = '', ...args] = [...runner, process.execPath, writerProgram, file];
  const { status, stderr } = spawnSync(command, args, {
    timeout: 30_000,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  return { status, words: String(stderr) };
}

/**
 * Kills (kill -9) the writer when it has acknowledged so many writes; the first and the last that it said.
 */
export async function killAfter(acknowledgements: number, writer: ChildProcess) {
  if (writer.stdout === null) throw new Error('the writer has no stdout');
  const exited = once(writer, 'exit');
  let first = 0;
  let last = 0;
  let count = 0;
  for await (const line of createInterface(writer.stdout)) {
    last = Number(line);
    first ||= last;
    if (++count === acknowledgements) writer.kill('SIGKILL');
  }
  const [code, signal] = await exited;
  if (signal !== 'SIGKILL') throw new Error(`the writer ended by itself, with exit code ${code}`);
  return { first, last };
}
