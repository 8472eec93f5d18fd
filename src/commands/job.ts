/**
 * Runs the work of a command in a process of its own: a disk may block it for ever, and a blocked process
 * cannot even exit. The process avoids disks that do not answer when it begins.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type ErrorCode, exitCodes, SoftquotaError } from '../errors.ts';
import { hungMounts } from '../layout/index.ts';
import { entryUrl } from '../package.ts';
import { printable, shellQuoted } from '../text.ts';
import { within } from '../turns.ts';
import type { CommonOptions, ConfigOption } from './settings.ts';
import { print, tellNote } from './streams.ts';

export type Job =
  | { readonly job: 'doctor'; readonly options: ConfigOption }
  | { readonly job: 'hooks'; readonly task: HooksTask }
  | { readonly job: 'init'; readonly root: string | null; readonly options: InitOptions };

export interface HooksOptions extends CommonOptions {
  /** The home of gitolite's user; true: find it. */
  readonly gitolite?: string | true;
  readonly socket?: string;
  readonly client?: string;
  readonly onError?: string;
  readonly lastFor?: string;
  /** Gitaly's custom_hooks_dir. */
  readonly gitlab?: string;
  /** A directory for core.hooksPath. */
  readonly hooksPath?: string;
  /** A directory for upload, quota and receive-pack. */
  readonly programs?: string;
}

export interface HooksTask {
  readonly act: 'install' | 'status' | 'remove';
  readonly roots: readonly string[];
  /** Only `install` uses all of them. */
  readonly options: HooksOptions;
}

export interface InitOptions {
  /** The file to write. */
  readonly config: string;
  readonly json?: boolean;
  /** The forge's own configuration file; searched for if omitted. */
  readonly forgeConfig?: string;
  /** The limit; suggested if omitted. */
  readonly total?: string;
  readonly enforce?: boolean;
  readonly hooks?: boolean;
  /** Sets the worker up, and forgives unreachable data. */
  readonly worker?: boolean;
}

export interface JobOrder {
  readonly job: Job;
  readonly hung: readonly string[];
}

/** The answer of the process; `hangs` are the mounts that it would have used, but avoided. */
export type JobAnswer = { readonly hangs: readonly string[] } & (
  | { readonly result: unknown }
  | { readonly fault: { readonly code: ErrorCode; readonly message: string } }
);

interface JobOutcome<Result> {
  /** Null if the work did not end in time. */
  readonly result: Result | null;
  /** Mounts that do not answer. */
  readonly hangs: readonly string[];
}

export interface Printed {
  readonly output: string;
  readonly status: number;
}

export const rootsHelp = 'repositories, or directories that contain repositories at any depth';

const minuteMs = 60_000;
/** Time limit of each job; `init` includes the first measurement. */
const longestMs = { doctor: 1.5 * minuteMs, hooks: 60 * minuteMs, init: 24 * 60 * minuteMs } as const;
/** Interval at which disks are checked meanwhile. */
const askAgainMs = minuteMs / 2;
/** A process that is done ends by itself in this time, unless a disk blocks one of its threads. */
const graceMs = 1000;

const worker = fileURLToPath(entryUrl('commands/job-worker'));

/**
 * Runs a job for at most `mostMs` milliseconds. `Result`: the type of the result in job-worker.ts. Rejects
 * with the fault of the work, and with `internal` if its process ends without an answer. If disks did not
 * answer, any fault becomes `not_ready` and names them, since they may be its cause.
 */
export async function runJob<Result>(
  job: Job,
  mostMs: number = longestMs[job.job],
): Promise<JobOutcome<Result>> {
  const stop = new AbortController();
  const ignoreSignals = endWithSignals(stop);
  try {
    const hung = await hungMounts(stop.signal);
    const answer = await answerOf({ job, hung }, mostMs, stop.signal);
    if (answer === null) return { result: null, hangs: await hungMounts(stop.signal) };
    const { hangs } = answer;
    if ('result' in answer) return { result: answer.result as Result, hangs };
    const { code, message } = answer.fault;
    if (hangs.length === 0) throw new SoftquotaError(code, message);
    throw new SoftquotaError('not_ready', [...hangs.map(hangWords), message].join('\n'));
  } finally {
    ignoreSignals();
    stop.abort();
  }
}

/**
 * Prints the output of a job, and the disks that do not answer; returns the exit status. Throws `not_ready`
 * if there is no result.
 */
export function printOutcome({ result, hangs }: JobOutcome<Printed>): number {
  const lines = hangs.map(hangWords);
  if (result === null) {
    const why = lines.length > 0 ? lines : ['the command made no progress, and the reason is not known'];
    throw new SoftquotaError('not_ready', [...why, 'it may have done a part of its work'].join('\n'));
  }
  print(result.output);
  for (const line of lines) tellNote(line);
  return hangs.length > 0 ? exitCodes.unreachable : result.status;
}

/** Returns null if the time is over. */
async function answerOf(order: JobOrder, mostMs: number, stop: AbortSignal): Promise<JobAnswer | null> {
  // A process group of its own, so that its children end with it.
  const child = fork(worker, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'], execArgv: [], detached: true });
  stop.addEventListener('abort', () => kill(child));
  const { promise, resolve, reject } = Promise.withResolvers<JobAnswer | null>();
  const ended = new Promise<number | null>(resolve => child.on('exit', resolve));
  child.on('error', reject);
  child.on('message', (answer: JobAnswer) => resolve(answer));
  // The last message arrives before this event.
  child.on('disconnect', async () => {
    const message = `the process that does the work ended with ${(await ended) ?? 'a signal'}`;
    reject(new SoftquotaError('internal', message));
  });
  child.send(order);
  const timer = setTimeout(() => resolve(null), mostMs);
  const asking = tellOfHangs(order.hung, stop);
  try {
    const answer = await promise;
    if (answer !== null) await within(ended, graceMs, null);
    return answer;
  } finally {
    clearTimeout(timer);
    clearInterval(asking);
    leave(child);
  }
}

function tellOfHangs(known: readonly string[], stop: AbortSignal): NodeJS.Timeout {
  const told = new Set(known);
  return setInterval(async () => {
    for (const mount of await hungMounts(stop)) {
      if (told.has(mount)) continue;
      told.add(mount);
      tellNote(`the disk at ${printable(mount)} does not answer, and may keep this command waiting`);
    }
  }, askAgainMs);
}

/** Ends the job's process if a signal ends this one: it does not get the signals of a terminal. */
function endWithSignals(stop: AbortController): () => void {
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  const end = (signal: NodeJS.Signals): void => {
    ignore();
    stop.abort();
    process.kill(process.pid, signal);
  };
  const ignore = (): void => {
    for (const signal of signals) process.removeListener(signal, end);
  };
  for (const signal of signals) process.on(signal, end);
  return ignore;
}

/** Kills a process without waiting for its end: one that a disk blocks ends only when the disk answers. */
function leave(child: ChildProcess): void {
  kill(child);
  child.removeAllListeners();
  child.on('error', () => {});
  if (child.connected) child.disconnect();
  child.unref();
}

function kill({ pid, exitCode, signalCode }: ChildProcess): void {
  if (pid === undefined || exitCode !== null || signalCode !== null) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The process ended meanwhile.
  }
}

/** Makes a sentence for an administrator that names the disk and the next step. */
function hangWords(mount: string): string {
  // Unlike --target, this reads the system's list and not the disk.
  const look = `findmnt --mountpoint ${shellQuoted(mount)}`;
  return printable(
    `the disk at ${mount} does not answer, so nothing on it was changed: find its server (${look}), then run this again`,
  );
}
