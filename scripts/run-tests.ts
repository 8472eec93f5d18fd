/**
 * Runs the tests and closes with one line, `N passed, N failed`.
 *
 * In: paths of test files; `--unit` for those that need neither root nor packages; or nothing for all. Exit: 0 all
 * passed, 1 not. A run in which no test was counted has failed, and one in which the unit tests cover too little.
 *
 * The unit tests run under tap's runner, which measures what they cover. All others run as they are: the runner would
 * load its own modules into every program that they start, which takes as long as a quarter of all tests.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { unitCoverage, unitTests } from './unit-tests.ts';

/** How many files run at a time: many wait for events. */
const jobs = 4;
const isLong = process.env.SOFTQUOTA_LONG === '1';
/** Seconds that one file may take, unless it gives itself longer; it looks after that itself. */
const timeout = isLong ? 1800 : 240;
/** After so many seconds a file that cannot even do that is ended. */
const longest = isLong ? 18_000 : 1200;

let passed = 0;
let failed = 0;
let files = 0;

/** Test files that run by themselves; an interrupt from the terminal does not reach them. */
const running = new Set<ChildProcess>();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    for (const test of running) end(test);
    process.kill(process.pid, signal);
  });
}

const [first, ...others] = process.argv.slice(2);
if (first === undefined || first === '--unit') {
  await runCovered(unitTests);
  const { report, isEnough } = unitCoverage();
  process.stdout.write(report);
  if (!isEnough) failed += 1;
  if (first === undefined) {
    const units = new Set(unitTests);
    await runAll(globSync('test/**/*.test.ts').filter(file => !units.has(file)));
  }
} else {
  await runAll([first, ...others]);
}
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exitCode = passed > 0 && failed === 0 ? 0 : 1;

/** Runs files in one run of tap, which looks at what they cover. */
async function runCovered(paths: readonly string[]): Promise<void> {
  const options = [
    '--reporter=tap',
    `--jobs=${jobs}`,
    `--timeout=${timeout}`,
    '--no-disable-coverage',
    '--coverage-report=json-summary',
  ];
  const run = spawn('tap', ['run', ...options, ...paths], { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = await report(run, /^(not )?ok \d+ - /);
  if (lines !== null) process.stdout.write(`${lines.join('\n')}\n`);
}

/** Runs each file by itself, some at a time: those that start many programs first, since they take longest. */
async function runAll(paths: readonly string[]): Promise<void> {
  const startsMany = (path: string) => path.startsWith('test/e2e/');
  const waiting = [...paths.filter(startsMany).sort(), ...paths.filter(path => !startsMany(path)).sort()];
  const worker = async () => {
    for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) await runOne(path);
  };
  await Promise.all(Array.from({ length: jobs }, worker));
}

async function runOne(path: string): Promise<void> {
  const startedAt = performance.now();
  const test = spawn(process.execPath, ['--no-warnings', path], {
    stdio: ['ignore', 'pipe', 'inherit'],
    // With the programs that it leaves behind it can be ended as one.
    detached: true,
    env: { ...process.env, TAP: '1', TAP_TIMEOUT: `${timeout}` },
  });
  const overdue = setTimeout(() => end(test), longest * 1000);
  running.add(test);
  const lines = await report(test, null);
  running.delete(test);
  clearTimeout(overdue);
  files += 1;
  const line = `ok ${files} - ${path} # time=${(performance.now() - startedAt).toFixed(0)}ms`;
  process.stdout.write(lines === null ? `${line}\n` : `${lines.join('\n')}\nnot ${line}\n`);
}

function end({ pid }: ChildProcess): void {
  if (pid !== undefined) process.kill(-pid, 'SIGKILL');
}

/**
 * Adds to `passed` and `failed` what a run of tests comes to; gives its lines if it failed, else null. Shows each line
 * of `shown` as it comes, and all of those before it where that begins with `not`.
 */
async function report(run: ChildProcess, shown: RegExp | null): Promise<readonly string[] | null> {
  const closed = once(run, 'close');
  let total = { passed: 0, failed: 0 };
  let lines: string[] = [];
  for await (const line of run.stdout === null ? [] : createInterface({ input: run.stdout })) {
    lines.push(line);
    // Assertions and subtests alike carry a line of their own; only the innermost, without a plan below, are
    // counted by the totals that a run closes with.
    const found = /^# \{ total: (\d+)(?:, pass: (\d+))?/.exec(line);
    if (found !== null)
      total = { passed: Number(found[2] ?? 0), failed: Number(found[1]) - Number(found[2] ?? 0) };
    const match = shown?.exec(line) ?? null;
    if (match === null) continue;
    process.stdout.write(match[1] === undefined ? `${line}\n` : `${lines.join('\n')}\n`);
    lines = [];
  }
  await closed;
  const isFailed = run.exitCode !== 0 || total.passed === 0;
  passed += total.passed;
  failed += isFailed ? Math.max(1, total.failed) : total.failed;
  return isFailed || total.failed > 0 ? lines : null;
}
