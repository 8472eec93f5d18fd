/** Starts the endless writer, and kills it. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export const writerProgram = join(import.meta.dirname, 'endless-writer.ts');

export function startWriter(file: string): ChildProcess {
  return spawn(process.execPath, [writerProgram, file], { stdio: ['ignore', 'pipe', 'inherit'] });
}

/** Kills (kill -9) the writer when it has acknowledged so many writes; the first and the last that it said. */
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
