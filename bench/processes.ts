/** Programs beside the one that measures: run to their end, or looked at while they run. */

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** Neither the user's settings of git nor those of another daemon bear on a figure. */
export const environment: NodeJS.ProcessEnv = {
  ...Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !name.startsWith('SOFTQUOTA_') && !name.startsWith('GIT_'),
    ),
  ),
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
};

export interface Timed {
  readonly ms: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program, and takes the time from its start to its end; rejects where it fails. */
export async function timed(command: string, args: readonly string[]): Promise<Timed> {
  const output: Buffer[] = [];
  const errors: Buffer[] = [];
  const begun = performance.now();
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env: environment });
  child.stdout.on('data', chunk => output.push(chunk));
  child.stderr.on('data', chunk => errors.push(chunk));
  const exited = once(child, 'exit').then(() => performance.now() - begun);
  await once(child, 'close');
  const stderr = Buffer.concat(errors).toString();
  if (child.exitCode !== 0) throw new Error(`${command} ${args.join(' ')} failed: ${stderr}`);
  return { ms: await exited, stdout: Buffer.concat(output).toString(), stderr };
}

/**
 * Does as `timed`, with the processor time that the program takes, both in milliseconds; what it prints is
 * dropped.
 */
export async function timedProcessor(
  command: string,
  args: readonly string[],
): Promise<{ readonly ms: number; readonly processorMs: number }> {
  const { ms, stdout } = await timed('sh', ['-c', '"$@" >/dev/null && times', 'sh', command, ...args]);
  // Two lines, of the shell and of its children, each with user and system time as 0m0.00s.
  const times = [...stdout.matchAll(/(\d+)m([\d.]+)s/g)].slice(2);
  const processor = times.reduce((sum, [, minutes, rest]) => sum + Number(minutes) * 60 + Number(rest), 0);
  return { ms, processorMs: processor * 1000 };
}

export function firstLine(command: string, args: readonly string[]): string {
  return execFileSync(command, args, { encoding: 'utf8', env: environment }).split('\n', 1)[0] ?? '';
}

const ticksPerSecond = Number(firstLine('getconf', ['CLK_TCK']));

/** Processor time that a process and its threads have taken so far, in milliseconds. */
export function processorMs(pid: number): number {
  // The name of the program, in brackets, may hold blanks; utime and stime are the 12th and 13th after it.
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1')
    .replace(/^.*\) /s, '')
    .split(' ');
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / ticksPerSecond;
}

/** Share of one processor below which a process is at rest, and for how long. */
const restingShare = 0.1;
const restingMs = 2000;
const longestUntilRestMs = 300_000;

/** Waits until a process does nothing any more; resolves with how many milliseconds it still had work. */
export async function untilAtRest(pid: number): Promise<number> {
  const begun = performance.now();
  for (;;) {
    const [before, since] = [processorMs(pid), performance.now()];
    await delay(restingMs);
    const share = (processorMs(pid) - before) / (performance.now() - since);
    if (share < restingShare) return since - begun;
    if (since - begun > longestUntilRestMs) throw new Error(`process ${pid} is never at rest`);
  }
}

/** Returns the memory that a process uses now, and the most that it ever used, in MB. */
export function memoryMb(pid: number): { readonly now: number; readonly most: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  const megabytes = (name: string) => {
    const kibibytes = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1];
    return (Number(kibibytes) * 1024) / 1e6;
  };
  return { now: megabytes('VmRSS'), most: megabytes('VmHWM') };
}

/** A port of the loopback on which nothing listens. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('a TCP port was asked for');
  return address.port;
}
