/** The one who has work done in time: starts the processes that do it, and listens where they look. */

import type { ChildProcess } from 'node:child_process';
import type { Readable } from 'node:stream';
import { SoftquotaError } from '../../errors.ts';
import { within } from '../../within.ts';
import { descriptor, type Report, type TaskOrder } from './messages.ts';
import { hangWords, type Wait, waitAt } from './waits.ts';

export interface InTimeOptions<Task> {
  readonly task: Task;
  /**
   * Starts a process that calls `work`, in a group of its own, with pipes as standard input and as the
   * descriptor 3.
   */
  readonly start: () => ChildProcess;
  /** How long nothing need be heard of a process before it is left behind. */
  readonly stuckMs: number;
  /** How long all of it may take; as long as it gets on, unless given. */
  readonly wholeMs?: number;
}

export interface InTimeOutcome<Result> {
  /**
   * Null where a process waited for a disk although it was to keep away from it, where too many disks do not
   * answer, or where there was no time left.
   */
  readonly result: Result | null;
  /** Where processes waited. */
  readonly waits: readonly Wait[];
  /** How many parts were done. */
  readonly parts: number;
}

/** Each costs the time in which nothing is heard of a process. */
const mostWaits = 8;

/**
 * Rejects with the fault that the work ends with, and with `internal` where a process ends without a word.
 * Where disks do not answer, a fault becomes `not_ready` and names them: it may come of that alone.
 */
export async function runInTime<Task, Result>({
  task,
  start,
  stuckMs,
  wholeMs = Number.POSITIVE_INFINITY,
}: InTimeOptions<Task>): Promise<InTimeOutcome<Result>> {
  const deadline = performance.now() + wholeMs;
  const waits = new Map<string, Wait>();
  const parts = new Map<string, unknown>();
  for (;;) {
    const order: TaskOrder<Task> = { task, avoided: [...waits.keys()], parts: [...parts] };
    const outcome = await listen<Result>(start(), order, parts, { stuckMs, deadline }).catch(
      (fault: unknown) => {
        throw waits.size > 0 && fault instanceof SoftquotaError ? unready(waits.values(), fault) : fault;
      },
    );
    if ('result' in outcome) return { result: outcome.result, waits: [...waits.values()], parts: parts.size };
    const wait = waitAt(outcome.stuckAt);
    const isOver =
      waits.has(wait.place) ||
      outcome.stuckAt === '' ||
      waits.size >= mostWaits ||
      performance.now() >= deadline;
    if (outcome.stuckAt !== '') waits.set(wait.place, wait);
    if (isOver) return { result: null, waits: [...waits.values()], parts: parts.size };
  }
}

function unready(waits: Iterable<Wait>, cause: SoftquotaError): SoftquotaError {
  const lines = [...Array.from(waits, hangWords), cause.message];
  return new SoftquotaError('not_ready', lines.join('\n'), { cause });
}

/** What a process comes to: its result, or where it does not get on; empty where it has not looked. */
type Outcome<Result> = { readonly result: Result } | { readonly stuckAt: string };

interface Limits {
  readonly stuckMs: number;
  readonly deadline: number;
}

async function listen<Result>(
  child: ChildProcess,
  order: TaskOrder<unknown>,
  parts: Map<string, unknown>,
  { stuckMs, deadline }: Limits,
): Promise<Outcome<Result>> {
  const { promise, resolve, reject } = Promise.withResolvers<Outcome<Result>>();
  let stuckAt = '';
  let lastHeard = performance.now();
  const take = (report: Report): void => {
    switch (report.type) {
      case 'look':
        stuckAt = report.path;
        return;
      case 'beat':
        stuckAt = '';
        return;
      case 'part':
        parts.set(report.name, report.value);
        return;
      case 'result':
        // What the task says that it comes to.
        resolve({ result: report.value as Result });
        return;
      case 'fault':
        reject(new SoftquotaError(report.code, report.message));
    }
  };
  // The one who started it made a pipe of it.
  const reports = child.stdio[descriptor] as Readable;
  const begun: string[] = [];
  reports.setEncoding('utf8').on('data', (chunk: string) => {
    lastHeard = performance.now();
    const pieces = chunk.split('\n');
    const last = pieces.pop() ?? '';
    for (const piece of pieces) take(JSON.parse(begun.splice(0).join('') + piece));
    begun.push(last);
  });
  const timer = setInterval(() => {
    const now = performance.now();
    if (now - lastHeard >= stuckMs || now >= deadline) resolve({ stuckAt });
  }, stuckMs / 20);
  const ended = new Promise<void>(resolve => child.on('close', () => resolve()));
  child.on('error', reject);
  child.on('close', code =>
    reject(new SoftquotaError('internal', `the process that does the work ended with ${code ?? 'a signal'}`)),
  );
  // One that ended has not read all of it, and is told of by its end.
  child.stdin?.on('error', () => {});
  child.stdin?.end(JSON.stringify(order));
  const stopForwarding = forwardSignals(child);
  try {
    const outcome = await promise;
    if ('result' in outcome) await within(ended, graceMs, undefined);
    return outcome;
  } finally {
    clearInterval(timer);
    stopForwarding();
    leave(child, reports);
  }
}

/** In this time a process that is done ends by itself, unless one of its threads waits for a disk. */
const graceMs = 1000;

/** Whoever ends this process means the work: the one that does it is in a group of its own. */
function forwardSignals(child: ChildProcess): () => void {
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  const end = (signal: NodeJS.Signals): void => {
    stop();
    kill(child);
    process.kill(process.pid, signal);
  };
  const stop = (): void => {
    for (const signal of signals) process.removeListener(signal, end);
  };
  for (const signal of signals) process.on(signal, end);
  return stop;
}

/**
 * Ends a process with all that it started, and waits for none of them: who waits for a disk ends when that
 * answers.
 */
function leave(child: ChildProcess, reports: Readable): void {
  kill(child);
  child.removeAllListeners();
  child.on('error', () => {});
  child.stdin?.destroy();
  reports.destroy();
  child.unref();
}

function kill({ pid, exitCode, signalCode }: ChildProcess): void {
  if (pid === undefined || exitCode !== null || signalCode !== null) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It ended by itself meanwhile.
  }
}
