/** Runs another program to its end, or to the end of its time. */

import { spawn } from 'node:child_process';
import { SoftquotaError } from '../errors.ts';

export interface ProgramOptions {
  /** After this time the program, and all that it started, is killed. */
  readonly timeoutMs: number;
  /** The whole environment besides PATH: nothing of ours reaches the program otherwise. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** `/` unless given, where nobody but root can leave anything. */
  readonly cwd?: string;
  /** What it reads on standard input. */
  readonly input?: string | Uint8Array;
  /** Whom it runs as; only root may say. */
  readonly user?: { readonly uid: number; readonly gid: number };
  /** How much it may print on either stream. */
  readonly mostBytes?: number;
}

export interface Ended {
  /** Null where a signal ended it. */
  readonly status: number | null;
  readonly output: string;
  /** What it wrote on standard error. */
  readonly complaint: string;
}

const mostPrinted = 1024 * 1024;

/**
 * Runs a program in a session of its own, so that it has no terminal into which it could type as us. Rejects
 * with the system's error where it cannot be started, with `not_ready` where its time is over, and with
 * `conflict` where it prints too much.
 */
export function runProgram(
  program: string,
  args: readonly string[],
  { timeoutMs, env = {}, cwd = '/', input, user, mostBytes = mostPrinted }: ProgramOptions,
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const { PATH = '' } = process.env;
    const child = spawn(program, args, { cwd, env: { PATH, ...env }, detached: true, ...user });
    const { stdin, stdout, stderr } = child;
    const end = (fault: SoftquotaError): void => {
      kill(child.pid);
      for (const stream of [stdin, stdout, stderr]) stream.destroy();
      reject(fault);
    };
    const timer = setTimeout(
      () => end(new SoftquotaError('not_ready', `${program}: no end within ${timeoutMs / 1000} s`)),
      timeoutMs,
    );
    const collect = (stream: typeof stdout): Buffer[] => {
      const chunks: Buffer[] = [];
      let length = 0;
      stream.on('data', (chunk: Buffer) => {
        length += chunk.length;
        if (length > mostBytes)
          end(new SoftquotaError('conflict', `${program}: more than ${mostBytes} bytes printed`));
        else chunks.push(chunk);
      });
      return chunks;
    };
    const output = collect(stdout);
    const complaint = collect(stderr);
    child.on('error', error => {
      clearTimeout(timer);
      reject(error);
    });
    child.on('close', status => {
      clearTimeout(timer);
      resolve({
        status,
        output: Buffer.concat(output).toString(),
        complaint: Buffer.concat(complaint).toString().trim(),
      });
    });
    stdin.on('error', () => {}); // what it did not read, it did not need
    stdin.end(input);
  });
}

/** The program leads a group, which whatever it started belongs to. */
function kill(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It ended by itself meanwhile.
  }
}
