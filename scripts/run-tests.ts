/**
 * Runs the tests and closes with one line, `N passed, N failed`.
 *
 * In: paths of test files; `--again` and paths; `--unit` for those that need neither root nor packages; or
 * nothing for all. What is built has to be current, as scripts/test sees to it. Exit: 0 all passed, 1 not.
 * A run in which no test was counted has failed, and one in which the unit tests cover too little.
 *
 * Files run beside each other, on fewer processors than they ask for, and with real servers that have
 * deadlines. So where all tests run, and with `--again`, a few files that failed run once more, by themselves:
 * a fault that is always there shows again. What they said first stays in the output, and a line before the
 * last names them.
 *
 * Each file runs in a process of its own, without tap's runner: that would load its own modules into every
 * program that the tests start, and would measure coverage in a way that makes the unit tests four times as
 * slow.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { inOrder } from './test-order.ts';
import { coverageDirectory, forgetCoverage, unitCoverage, unitTests } from './unit-tests.ts';

/** Number of files that run at a time; one more only waits, since many wait for events. */
const jobs = 4;
const isLong = process.env.SOFTQUOTA_LONG === '1';
/** Seconds that one file may take, unless it gives itself longer; it looks after that itself. */
const timeout = isLong ? 1800 : 240;
/** Seconds after which a file is ended that did not end itself. */
const longest = isLong ? 18_000 : 1200;

/**
 * A test file lives for seconds and starts many threads, each with a heap of its own: room for what they make
 * at first spares them a tenth of their time, in which it would be collected.
 */
const forShortLives = ['--no-warnings', '--min-semi-space-size=16', '--single-threaded-gc'];

/** With more failures than this, it is not the company that the files were in. */
const mostAgain = 3;

interface Result {
  readonly path: string;
  readonly passed: number;
  readonly failed: number;
  /** Output of the file. */
  readonly lines: readonly string[];
  /** For how long it had a processor; empty where it could not say so. */
  readonly cpu: string;
}

const results = new Map<string, Result>();
let runs = 0;

/** Test files that run by themselves; an interrupt from the terminal does not reach them. */
const running = new Set<ChildProcess>();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    for (const test of running) end(test);
    process.kill(process.pid, signal);
  });
}

// Those that need more than an ordinary run may take are there in the long run only.
const allTests = globSync('test/**/*.test.ts').filter(path => isLong || !path.endsWith('.long.test.ts'));
const given = process.argv.slice(2);
const [first] = given;
let isCovered = true;
if (first === undefined || first === '--unit') {
  forgetCoverage();
  await runAll(first === undefined ? allTests : unitTests, new Set(unitTests));
  if (first === undefined) await runFailedAgain();
  const { report, isEnough } = unitCoverage();
  process.stdout.write(report);
  isCovered = isEnough;
} else {
  await runAll(first === '--again' ? given.slice(1) : given, new Set());
  if (first === '--again') await runFailedAgain();
}
const sum = (count: (result: Result) => number): number =>
  [...results.values()].reduce((total, result) => total + count(result), 0);
const passed = sum(result => result.passed);
const failed = sum(result => result.failed) + (isCovered ? 0 : 1);
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exitCode = passed > 0 && failed === 0 ? 0 : 1;

/**
 * Runs each file by itself, some at a time, the long ones first, so that none of them is left alone at the
 * end. What those in `covered` cover is noted.
 */
async function runAll(paths: readonly string[], covered: ReadonlySet<string>): Promise<void> {
  const { busy, waiting } = inOrder(paths);
  const queues = { busy: [...busy], waiting: [...waiting] };
  const run = async (next: () => string | undefined) => {
    for (let path = next(); path !== undefined; path = next()) await runOne(path, covered.has(path));
  };
  await Promise.all([
    run(() => queues.waiting.shift()),
    ...Array.from({ length: jobs }, () => run(() => queues.busy.shift() ?? queues.waiting.shift())),
  ]);
}

/** Gives the few files that failed a second chance, one after the other. */
async function runFailedAgain(): Promise<void> {
  const before = [...results.values()].filter(({ failed }) => failed > 0);
  if (before.length > mostAgain) return;
  for (const { path } of before) await runOne(path, false);
  const passing = before.map(({ path }) => path).filter(path => results.get(path)?.failed === 0);
  if (passing.length > 0)
    process.stdout.write(`# failed once, and passed by itself: ${passing.join(', ')}\n`);
}

async function runOne(path: string, isCovered: boolean): Promise<void> {
  const startedAt = performance.now();
  const test = spawn(process.execPath, [...forShortLives, 'scripts/run-test.ts', path], {
    stdio: ['ignore', 'pipe', 'inherit'],
    // With the programs that it leaves behind it can be ended as one.
    detached: true,
    env: {
      ...process.env,
      TAP: '1',
      TAP_TIMEOUT: `${timeout}`,
      ...(isCovered ? { SOFTQUOTA_COVERAGE: coverageDirectory } : {}),
    },
  });
  const overdue = setTimeout(() => end(test), longest * 1000);
  running.add(test);
  const result = await resultOf(path, test);
  running.delete(test);
  clearTimeout(overdue);
  results.set(path, result);
  runs += 1;
  const line = `ok ${runs} - ${path} # time=${(performance.now() - startedAt).toFixed(0)}ms ${result.cpu}`;
  process.stdout.write(result.failed === 0 ? `${line}\n` : `${result.lines.join('\n')}\nnot ${line}\n`);
}

function end({ pid }: ChildProcess): void {
  if (pid !== undefined) process.kill(-pid, 'SIGKILL');
}

/** Reads what a run of tests comes to. One that fails without a test that failed counts as one. */
async function resultOf(path: string, run: ChildProcess): Promise<Result> {
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
    path,
    passed: total.passed,
    failed: isFailed ? Math.max(1, total.failed) : total.failed,
    lines,
    cpu,
  };
}
