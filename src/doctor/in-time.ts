/**
 * An examination that ends, whatever disks do.
 *
 * It is made by another process, which tells where it looks (see looks.ts). Where it does not get on any
 * more, it is left behind, and made once more by one that keeps away from there; so all else is looked at.
 */

import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { SoftquotaError } from '../errors.ts';
import { commandLine } from '../health/index.ts';
import { decodePath, mountsIn, mountTable } from '../layout/index.ts';
import { printable } from '../text/index.ts';
import type { Finding } from '../wire/index.ts';
import { finding } from './check-result.ts';
import type { Examination } from './examine.ts';
import { lookEnd } from './looks.ts';

/**
 * Starts the process that looks, in a group of its own, and not below these directories. It tells its looks
 * on descriptor 3, prints the examination as JSON, and ends with 0.
 */
export type StartExaminer = (avoided: readonly string[]) => ChildProcess;

export interface InTimeOptions {
  /** How long nothing need be heard of the process that looks. */
  readonly stuckMs: number;
  /** How long all of it may take. */
  readonly wholeMs: number;
}

const usual: InTimeOptions = { stuckMs: 10_000, wholeMs: 90_000 };

/** Where a process waits for a disk; empty where it has not said. */
interface Stuck {
  readonly stuckAt: string;
}

export async function examineInTime(
  start: StartExaminer,
  { stuckMs, wholeMs }: InTimeOptions = usual,
): Promise<Examination> {
  const deadline = performance.now() + wholeMs;
  const waits = new Map<string, string>();
  for (;;) {
    const outcome = await heard(start([...waits.keys()]), stuckMs, deadline);
    if (!('stuckAt' in outcome))
      return { ...outcome, findings: [...added(waits, outcome), ...outcome.findings] };
    const place = placeOf(outcome.stuckAt);
    // It looked there all the same, or there is no time left.
    const isOver = waits.has(place) || place === '' || performance.now() >= deadline;
    waits.set(place, outcome.stuckAt);
    if (isOver) return { findings: [...added(waits, { findings: [] }), notLooked()], checked: [] };
  }
}

/** What a daemon told already is not told twice. */
function added(waits: ReadonlyMap<string, string>, { findings }: Pick<Examination, 'findings'>): Finding[] {
  const told = findings.filter(({ code }) => code === 'disk_hangs');
  return [...waits]
    .filter(([place]) => !told.some(({ message }) => message.includes(printable(place))))
    .map(([, path]) =>
      finding(
        'disk_hangs',
        `the disk at ${printable(path)} does not answer; what lies on it was not looked at`,
        `see what serves it: ${commandLine('findmnt', '--target', path)}`,
      ),
    );
}

function notLooked(): Finding {
  return finding(
    'not_looked',
    'all else was not looked at, since the disk kept it waiting',
    'mend this first, then run doctor again',
  );
}

/** What a process comes to: its examination, or where it does not get on. */
function heard(child: ChildProcess, stuckMs: number, deadline: number): Promise<Examination | Stuck> {
  const { promise, resolve, reject } = Promise.withResolvers<Examination | Stuck>();
  const output: Buffer[] = [];
  let stuckAt = '';
  let rest = '';
  let lastHeard = performance.now();
  child.stdout?.on('data', (chunk: Buffer) => output.push(chunk));
  // The one who started it made a pipe of it.
  const looks = child.stdio[3] as Readable;
  looks.setEncoding('utf8').on('data', (chunk: string) => {
    lastHeard = performance.now();
    const paths = (rest + chunk).split(lookEnd);
    rest = paths.pop() ?? '';
    stuckAt = paths.findLast(path => path !== '') ?? stuckAt;
  });
  const timer = setInterval(() => {
    const now = performance.now();
    if (now - lastHeard < stuckMs && now < deadline) return;
    leave(child, looks);
    resolve({ stuckAt });
  }, stuckMs / 20);
  child.on('error', reject);
  child.on('close', code => {
    if (code === 0) resolve(JSON.parse(Buffer.concat(output).toString()));
    else reject(new SoftquotaError('internal', `what looks for doctor ended with ${code ?? 'a signal'}`));
  });
  return promise.finally(() => clearInterval(timer));
}

/**
 * Ends it with all that it started, and waits for none of them: who waits for a disk ends when that answers.
 */
function leave(child: ChildProcess, looks: Readable): void {
  if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  child.removeAllListeners();
  child.on('error', () => {});
  child.stdout?.destroy();
  looks.destroy();
  child.unref();
}

/**
 * The file system that a path lies on; all others are below the first one, so of that it is the path alone.
 */
function placeOf(path: string): string {
  try {
    const place = mountTable(mountsIn(decodePath(readFileSync('/proc/self/mountinfo'))))(path)?.at ?? '/';
    return place === '/' ? path : place;
  } catch {
    return path;
  }
}
