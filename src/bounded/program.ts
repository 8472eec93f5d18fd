/** Runs another program to its end, or to the end of its time. */

import { spawn } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { SoftquotaError, systemCode } from '../errors.ts';

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
  /** Runs it with the lowest priority. */
  readonly isNiced?: boolean;
  /** Asks the program to end (SIGTERM), and kills it if it does not within ten seconds. */
  readonly signal?: AbortSignal;
  /** Called with its process number, which is also that of its group. */
  readonly started?: (pid: number) => void;
}

export interface Ended {
  /** Null where a signal ended it. */
  readonly status: number | null;
  readonly output: string;
  /** What it wrote on standard error. */
  readonly complaint: string;
}

const mostPrinted = 1024 * 1024;
/** A program that is asked to end has so long for it. */
export const endingMs = 10_000;
const lookAgainMs = 5;

/**
 * Runs a program in a session of its own, so that it has no terminal into which it could type as us. Rejects
 * with the system's error where it cannot be started, with `not_ready` where its time is over, and with
 * `conflict` where it prints too much. Whoever ended it before its time, nothing of its group runs any more
 * when this settles, unless the system cannot end it.
 */
export function runProgram(
  program: string,
  args: readonly string[],
  {
    timeoutMs,
    env = {},
    cwd = '/',
    input,
    user,
    mostBytes = mostPrinted,
    isNiced,
    signal,
    started,
  }: ProgramOptions,
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const { PATH = '' } = process.env;
    const child = spawn(program, args, { cwd, env: { PATH, ...env }, detached: true, ...user });
    const { stdin, stdout, stderr } = child;
    if (child.pid !== undefined) started?.(child.pid);
    if (isNiced === true) lowerPriority(child.pid);
    const watched = endWith(signal, child.pid);
    let isOver = false;
    const end = (fault: SoftquotaError): void => {
      isOver = true;
      clearTimeout(timer);
      watched.end();
      for (const stream of [stdin, stdout, stderr]) stream.destroy();
      void endGroup(child.pid).then(() => reject(fault));
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
      watched.end();
      reject(error);
    });
    child.on('close', status => {
      clearTimeout(timer);
      watched.end();
      if (isOver) return;
      const ended = {
        status,
        output: Buffer.concat(output).toString(),
        complaint: Buffer.concat(complaint).toString().trim(),
      };
      // Its children may still be at work where it was ended itself.
      if (signal?.aborted === true) void endGroup(child.pid, endingMs).then(() => resolve(ended));
      else if (status === null) void endGroup(child.pid).then(() => resolve(ended));
      else resolve(ended);
    });
    stdin.on('error', () => {}); // what it did not read, it did not need
    stdin.end(input);
  });
}

/** The program leads a group, which whatever it started belongs to. */
export function killGroup(pid: number | undefined, how: NodeJS.Signals = 'SIGKILL'): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, how);
  } catch {
    // It ended by itself meanwhile.
  }
}

/** Kills what of a group still runs after a time. Resolves once nothing does, or it cannot be killed. */
export async function endGroup(pid: number | undefined, graceMs = 0): Promise<void> {
  for (const begun = performance.now(); isGroupAlive(pid); await delay(lookAgainMs)) {
    const tookMs = performance.now() - begun;
    if (tookMs > graceMs + endingMs) return;
    if (tookMs >= graceMs) killGroup(pid);
  }
}

export function isGroupAlive(pid: number | undefined): boolean {
  if (pid === undefined) return false;
  try {
    process.kill(-pid, 0);
    return true;
  } catch (error) {
    return systemCode(error) === 'EPERM';
  }
}

export function lowerPriority(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    setPriority(pid, constants.priority.PRIORITY_LOW);
  } catch {
    // It ended by itself meanwhile.
  }
}

/** Ends a program when the signal comes; `end` stops waiting for it. */
export function endWith(signal: AbortSignal | undefined, pid: number | undefined): { end(): void } {
  let overdue: NodeJS.Timeout | undefined;
  const stop = (): void => {
    killGroup(pid, 'SIGTERM');
    overdue = setTimeout(() => killGroup(pid), endingMs);
  };
  if (signal?.aborted === true) stop();
  else signal?.addEventListener('abort', stop, { once: true });
  return {
    end: () => {
      clearTimeout(overdue);
      signal?.removeEventListener('abort', stop);
    },
  };
}
