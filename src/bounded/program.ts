/** Runs programs within a time limit: one alone, or several as a pipeline. */

import { spawn } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { SoftquotaError, systemCode } from '../errors.ts';

interface RunOptions {
  /** After this time the programs, and all that they started, are killed. */
  readonly timeoutMs: number;
  /** `/` unless given, where only root can create files. */
  readonly cwd?: string;
  readonly input?: string | Uint8Array;
  /** The account they run as; only root may choose. */
  readonly user?: { readonly uid: number; readonly gid: number };
  readonly isNiced?: boolean;
  /** Bytes of memory that each may allocate. Files that it maps do not count. */
  readonly memoryBytes?: number;
  /** Asks them to end (SIGTERM), and kills them if they do not within ten seconds. */
  readonly signal?: AbortSignal;
  /** Called with the process number of each, which is also that of its group. */
  readonly started?: (pid: number) => void;
}

export interface ProgramOptions extends RunOptions {
  readonly env?: Stage['env'];
  readonly mostBytes?: number;
}

export interface Stage {
  readonly program: string;
  readonly args: readonly string[];
  /** The whole environment besides PATH; the program does not inherit ours. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface EndedStage {
  /** Null where a signal ended it. */
  readonly status: number | null;
  /** The first characters of what it wrote on standard error. */
  readonly complaint: string;
}

interface Ended extends EndedStage {
  readonly output: string;
}

const mostPrinted = 1024 * 1024;
const mostComplaint = 64 * 1024;

/** Runs one program, and collects what it prints. Rejects with `conflict` if that exceeds `mostBytes`. */
export async function runProgram(
  program: string,
  args: readonly string[],
  { env = {}, mostBytes = mostPrinted, ...options }: ProgramOptions,
): Promise<Ended> {
  const pieces: Buffer[] = [];
  let length = 0;
  const [ended] = await pipePrograms([{ program, args, env }], options, piece => {
    length += piece.length;
    if (length > mostBytes)
      throw new SoftquotaError('conflict', `${program}: more than ${mostBytes} bytes printed`);
    pieces.push(piece);
  });
  return { status: null, complaint: '', ...ended, output: Buffer.concat(pieces).toString() };
}

/**
 * Passes the output of the last program to `take`, a piece at a time, and resolves with how each ended.
 * Nothing is collected, so memory does not grow with the output. Each program has a session of its own, so
 * that it has no terminal into which it could type as us. Rejects with the system's error if a program cannot
 * be started, with `not_ready` when the time is over, and with what `take` throws. If the programs were ended
 * early, nothing of their process groups runs any more when this settles, unless the system cannot kill it.
 */
export async function pipePrograms(
  stages: readonly Stage[],
  { timeoutMs, cwd = '/', input = '', user, isNiced, memoryBytes, signal, started }: RunOptions,
  take: (piece: Buffer) => void,
): Promise<readonly EndedStage[]> {
  const { PATH = '' } = process.env;
  const running = stages.map(({ program, args, env }) => {
    const [command, words] = memoryBytes === undefined ? [program, args] : within(memoryBytes, program, args);
    const child = spawn(command, words, { cwd, env: { PATH, ...env }, detached: true, ...user });
    if (child.pid !== undefined) started?.(child.pid);
    if (isNiced === true) lowerPriority(child.pid);
    return { child, watched: endWith(signal, child.pid), ended: endOf(child) };
  });
  const killAll = (): void => {
    for (const { child } of running) {
      killGroup(child.pid);
      // A process that has left the group may hold the pipes open.
      for (const stream of child.stdio ?? []) stream?.destroy();
    }
  };
  let isOverdue = false;
  const timer = setTimeout(() => {
    isOverdue = true;
    killAll();
  }, timeoutMs);
  let isWhole = false;
  try {
    // Rejects if one could not be started, which has no streams if we have no descriptor left.
    await Promise.all(running.map(({ child, ended }) => (child.pid === undefined ? ended : null)));
    running[0]?.child.stdin.on('error', () => {}); // what it did not read, it did not need
    running[0]?.child.stdin.end(input);
    // If the connection between two programs breaks, their exit statuses show it.
    const pipes = running
      .slice(1)
      .map(({ child }, index) => pipeline(running[index]?.child.stdout ?? [], child.stdin).catch(() => {}));
    for await (const piece of running.at(-1)?.child.stdout ?? []) take(piece);
    await Promise.all(pipes);
    const ended = await Promise.all(running.map(each => each.ended));
    isWhole = ended.every(({ status }) => status !== null);
    if (!isOverdue) return ended;
  } catch (error) {
    killAll();
    await Promise.allSettled(running.map(each => each.ended));
    if (!isOverdue) throw error;
  } finally {
    clearTimeout(timer);
    for (const { watched } of running) watched.end();
    const graceMs = signal?.aborted === true && !isOverdue ? endingMs : 0;
    if (!isWhole || signal?.aborted === true)
      await Promise.all(running.map(({ child }) => endGroup(child.pid, graceMs)));
  }
  throw new SoftquotaError('not_ready', `${stages[0]?.program}: no end within ${timeoutMs / 1000} s`);
}

/** The shell sets the limit, and becomes the program; a lower limit that it cannot raise stays. */
function within(bytes: number, program: string, args: readonly string[]): [string, readonly string[]] {
  return [
    '/bin/sh',
    ['-c', 'ulimit -d "$0" 2>/dev/null; exec "$@"', `${Math.ceil(bytes / 1024)}`, program, ...args],
  ];
}

function endOf(child: ReturnType<typeof spawn>): Promise<EndedStage> {
  const ended = new Promise<EndedStage>((resolve, reject) => {
    let complaint = '';
    child.stderr?.on('data', (piece: Buffer) => {
      if (complaint.length < mostComplaint) complaint += piece.toString();
    });
    child.on('error', reject);
    child.on('close', status => resolve({ status, complaint: complaint.trim() }));
  });
  // The result is awaited later; an earlier rejection must not count as unhandled.
  ended.catch(() => {});
  return ended;
}

/** Time that a program has to end after SIGTERM. */
const endingMs = 10_000;
const lookAgainMs = 5;

function killGroup(pid: number | undefined, how: NodeJS.Signals = 'SIGKILL'): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, how);
  } catch {
    // It ended by itself meanwhile.
  }
}

/** Kills a group that still runs after `graceMs`. Resolves once it has ended, or cannot be killed. */
async function endGroup(pid: number | undefined, graceMs = 0): Promise<void> {
  for (const begun = performance.now(); isGroupAlive(pid); await delay(lookAgainMs)) {
    const tookMs = performance.now() - begun;
    if (tookMs > graceMs + endingMs) return;
    if (tookMs >= graceMs) killGroup(pid);
  }
}

export function isGroupAlive(pid: number | undefined): boolean {
  return pid !== undefined && isProcessAlive(-pid);
}

/** Returns true if the process exists. A negative number means a process group. */
export function isProcessAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return systemCode(error) === 'EPERM';
  }
}

function lowerPriority(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    setPriority(pid, constants.priority.PRIORITY_LOW);
  } catch {
    // It ended by itself meanwhile.
  }
}

/** Ends a program when the signal fires; `end` stops listening. */
function endWith(signal: AbortSignal | undefined, pid: number | undefined): { end(): void } {
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
