/**
 * Runs the tests and closes with one line, `N passed, N failed`.
 *
 * In: paths of test files; `--unit` for those that need neither root nor packages; or nothing for all. What
 * is built has to be current, as scripts/test sees to it. Exit: 0 all passed, 1 not. A run in which no test
 * was counted has failed, and one in which the unit tests cover too little.
 *
 * Files run beside each other, on fewer processors than they ask for, and each runs once: one that fails only
 * sometimes has a fault, or waits for time instead of an event.
 *
 * Each file runs in a process of its own, and the unit tests of a folder in one together, which loads what
 * they test once: without tap's runner, that would load its own modules into every program that the tests
 * start, and would measure coverage in a way that makes the unit tests four times as slow.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { inOrder } from './test-order.ts';
import { coverageDirectory, forgetCoverage, unitCoverage, unitTests } from './unit-tests.ts';

/** Number of files that run at a time; one more only waits, since many wait for events. */
const jobs = 4;
const isLong = Number(process.env.SOFTQUOTA_LONG ?? 0) > 0;
/** Seconds that one file may take, unless it gives itself longer; it looks after that itself. */
const timeout = isLong ? 1800 : 240;
/** Seconds after which a file is ended that did not end itself. */
const longest = isLong ? 18_000 : 1200;

/**
 * A test file lives for seconds and starts many threads, each with a heap of its own: room for what they make
 * at first spares them a tenth of their time, in which it would be collected.
 */
const forShortLives = ['--no-warnings', '--min-semi-space-size=16', '--single-threaded-gc'];

/**
 * Place where Node keeps what it compiled of the sources, for the next file: half of what a small file takes.
 * What is covered is told apart by V8 only in functions that it compiles itself.
 */
const compiled = { NODE_COMPILE_CACHE: resolve('node_modules/.cache/compiled') };

/** Files that run in one process, and what they are called together. */
interface Group {
  readonly name: string;
  readonly paths: readonly string[];
}

interface Result {
  readonly group: Group;
  readonly passed: number;
  readonly failed: number;
  /** Output of the file. */
  readonly lines: readonly string[];
  /** For how long it had a processor; empty where it could not say so. */
  readonly cpu: string;
}

const results: Result[] = [];

/** Test files that run by themselves; an interrupt from the terminal does not reach them. */
const running = new Set<ChildProcess>();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    for (const test of running) end(test);
    process.kill(process.pid, signal);
  });
}

// Those that need more than an ordinary run may take are there in the long run only.
const allTests = globSync('test/**/*.test.ts', { exclude: ['**/node_modules'] }).filter(
  path => isLong || !path.endsWith('.long.test.ts'),
);
const given = process.argv.slice(2);
const [first] = given;
let isCovered = true;
if (first === undefined || first === '--unit') {
  forgetCoverage();
  const units = Object.entries(Object.groupBy(unitTests, path => dirname(path)));
  const groups = units.map(([name, paths = []]) => ({ name, paths }));
  const others = first === undefined ? allTests.filter(path => !unitTests.includes(path)) : [];
  await runAll([...groups, ...others.map(alone)]);
  const { report, isEnough } = unitCoverage();
  process.stdout.write(report);
  isCovered = isEnough;
} else {
  await runAll(given.map(alone));
}
const sum = (count: (result: Result) => number): number =>
  results.reduce((total, result) => total + count(result), 0);
const passed = sum(result => result.passed);
const failed = sum(result => result.failed) + (isCovered ? 0 : 1);
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exitCode = passed > 0 && failed === 0 ? 0 : 1;

function alone(path: string): Group {
  return { name: path, paths: [path] };
}

/** Runs each group by itself, some at a time, the long ones first, so that none is left alone at the end. */
async function runAll(groups: readonly Group[]): Promise<void> {
  const named = new Map(groups.map(group => [group.name, group]));
  const { busy, waiting } = inOrder([...named.keys()]);
  const queues = { busy: [...busy], waiting: [...waiting] };
  const run = async (next: () => string | undefined) => {
    for (let name = next(); name !== undefined; name = next()) await runOne(named.get(name) ?? alone(name));
  };
  await Promise.all([
    run(() => queues.waiting.shift()),
    ...Array.from({ length: jobs }, () => run(() => queues.busy.shift() ?? queues.waiting.shift())),
  ]);
}

/** Notes what unit tests cover. */
async function runOne(group: Group): Promise<void> {
  const { name, paths } = group;
  const isCovered = paths.some(path => unitTests.includes(path));
  const startedAt = performance.now();
  const test = spawn(process.execPath, [...forShortLives, 'scripts/run-test.ts', ...paths], {
    stdio: ['ignore', 'pipe', 'inherit'],
    // With the programs that it leaves behind it can be ended as one.
    detached: true,
    env: {
      ...process.env,
      TAP: '1',
      TAP_TIMEOUT: `${timeout * paths.length}`,
      ...(isCovered ? { SOFTQUOTA_COVERAGE: coverageDirectory } : compiled),
    },
  });
  const overdue = setTimeout(() => end(test), longest * 1000);
  running.add(test);
  const result = await resultOf(group, test);
  running.delete(test);
  clearTimeout(overdue);
  results.push(result);
  const line = `ok ${results.length} - ${name} # time=${(performance.now() - startedAt).toFixed(0)}ms ${result.cpu}`;
  if (result.failed > 0) process.stdout.write(`${result.lines.join('\n')}\nnot ${line}\n`);
  else process.stdout.write([line, ...(isLong ? result.lines.filter(isFigure) : []), ''].join('\n'));
}

/** Tells whether a line is a comment of a test, such as what it measured, and none of tap's own. */
function isFigure(line: string): boolean {
  return /^ *# (?!Subtest: |\{ total: |(time|cpu)=)/.test(line);
}

function end({ pid }: ChildProcess): void {
  if (pid !== undefined) process.kill(-pid, 'SIGKILL');
}

/** Reads what a run of tests comes to. One that fails without a test that failed counts as one. */
async function resultOf(group: Group, run: ChildProcess): Promise<Result> {
  const closed = once(run, 'close');
  let total = { passed: 0, failed: 0 };
  let cpu = '';
  const lines: string[] = [];
  for await (const line of run.stdout === null ? [] : createInterface({ input: run.stdout })) {
    lines.push(line);
    cpu = /^# (cpu=\d+ms)$/.exec(line)?.[1] ?? cpu;
    // Assertions and subtests alike carry a line of their own; only the innermost, without a plan below, are
    // counted by the totals that a run closes with.
    const found = /^# \{ total: (\d+)(?:, pass: (\d+))?/.exec(line);
    if (found !== null)
      total = { passed: Number(found[2] ?? 0), failed: Number(found[1]) - Number(found[2] ?? 0) };
  }
  await closed;
  const isFailed = run.exitCode !== 0 || total.passed === 0;
  return {
    group,
    passed: total.passed,
    failed: isFailed ? Math.max(1, total.failed) : total.failed,
    lines,
    cpu,
  };
}
