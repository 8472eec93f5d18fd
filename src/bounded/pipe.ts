/** Runs programs whose output may be long, each reading what the one before prints. */

import { spawn } from 'node:child_process';
import { pipeline } from 'node:stream/promises';
import { SoftquotaError } from '../errors.ts';
import { endGroup, endingMs, endWith, killGroup, lowerPriority, type ProgramOptions } from './program.ts';

export interface Stage {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface EndedStage {
  /** Null where a signal ended it. */
  readonly status: number | null;
  /** The first characters of what it wrote on standard error. */
  readonly complaint: string;
}

const mostComplaint = 64 * 1024;

/**
 * Gives what the last program prints to `take`, a piece at a time, and resolves with how each ended. Nothing
 * is collected, so the memory does not depend on the length of the output. Rejects with the system's error
 * where a program cannot be started, with `not_ready` where the time is over, and with what `take` throws.
 */
export async function pipePrograms(
  stages: readonly Stage[],
  {
    timeoutMs,
    isNiced,
    signal,
    input = '',
  }: Pick<ProgramOptions, 'timeoutMs' | 'isNiced' | 'signal' | 'input'>,
  take: (piece: Buffer) => void,
): Promise<readonly EndedStage[]> {
  const { PATH = '' } = process.env;
  const running = stages.map(({ program, args, env }) => {
    const child = spawn(program, args, { cwd: '/', env: { PATH, ...env }, detached: true });
    if (isNiced === true) lowerPriority(child.pid);
    return { child, watched: endWith(signal, child.pid), ended: endOf(child) };
  });
  const killAll = (): void => {
    for (const { child } of running) killGroup(child.pid);
  };
  let isOverdue = false;
  const timer = setTimeout(() => {
    isOverdue = true;
    killAll();
  }, timeoutMs);
  running[0]?.child.stdin.on('error', () => {}); // what it did not read, it did not need
  running[0]?.child.stdin.end(input);
  // If the connection between two programs breaks, their exit statuses show it.
  const pipes = running
    .slice(1)
    .map(({ child }, index) => pipeline(running[index]?.child.stdout ?? [], child.stdin).catch(() => {}));
  try {
    for await (const piece of running.at(-1)?.child.stdout ?? []) take(piece);
    await Promise.all(pipes);
    const ended = await Promise.all(running.map(each => each.ended));
    if (isOverdue) throw new SoftquotaError('not_ready', `git: no end within ${timeoutMs / 1000} s`);
    return ended;
  } catch (error) {
    killAll();
    await Promise.allSettled(running.map(each => each.ended));
    throw error;
  } finally {
    clearTimeout(timer);
    for (const { watched } of running) watched.end();
    if (isOverdue || signal?.aborted === true)
      await Promise.all(running.map(({ child }) => endGroup(child.pid, isOverdue ? 0 : endingMs)));
  }
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
  // It is waited for at the end; a fault before that is no unhandled one.
  ended.catch(() => {});
  return ended;
}
