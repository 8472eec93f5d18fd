/**
 * Runs the tests and closes with one line, `N passed, N failed`.
 *
 * In: paths of test files; `--unit` for those that need neither root nor packages; or nothing for all. Exit: 0 all
 * passed, 1 not. A run in which no test was counted has failed, and one in which the unit tests cover too little.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { unitCoverage, unitTests } from './unit-tests.ts';

/** Seconds that one file may take in a long run; a short one takes what .taprc says. */
const longTimeout = 1800;

const common = [
  '--reporter=tap',
  ...(process.env.SOFTQUOTA_LONG === '1' ? [`--timeout=${longTimeout}`] : []),
];
const coverage = ['--no-disable-coverage', '--coverage-report=json-summary'];

let passed = 0;
let failed = 0;

const [first, ...others] = process.argv.slice(2);
if (first === undefined || first === '--unit') {
  await runFiles(unitTests, coverage);
  const { report, isEnough } = unitCoverage();
  process.stdout.write(report);
  if (!isEnough) failed += 1;
  if (first === undefined) {
    const units = new Set(unitTests);
    const files = globSync('test/**/*.test.ts').filter(file => !units.has(file));
    await runFiles(files.sort(), []);
  }
} else {
  await runFiles([first, ...others], []);
}
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exitCode = passed > 0 && failed === 0 ? 0 : 1;

/** Adds to `passed` and `failed` what these files come to. Shows a line for each, and all of one that fails. */
async function runFiles(files: readonly string[], options: readonly string[]): Promise<void> {
  const runner = spawn('tap', ['run', ...common, ...options, ...files], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let total = { passed: 0, failed: 0 };
  /** The lines of the test file that is running, shown only where it fails. */
  let waiting: string[] = [];
  for await (const line of createInterface({ input: runner.stdout })) {
    waiting.push(line);
    // Assertions and subtests alike carry a line of their own; only the innermost, without a plan below, are
    // counted by the totals that the runner closes with.
    const found = /^# \{ total: (\d+)(?:, pass: (\d+))?(?:, fail: (\d+))?/.exec(line);
    if (found !== null)
      total = { passed: Number(found[2] ?? 0), failed: Number(found[1]) - Number(found[2] ?? 0) };
    const file = /^(not )?ok \d+ - (\S+)(.*)/.exec(line);
    if (file === null) continue;
    process.stdout.write(file[1] === undefined ? `${line}\n` : `${waiting.join('\n')}\n`);
    waiting = [];
  }
  await once(runner, 'close');
  if (runner.exitCode !== 0 && total.failed === 0) total = { ...total, failed: 1 };
  if (total.failed > 0) process.stdout.write(`${waiting.join('\n')}\n`);
  passed += total.passed;
  failed += total.failed;
}
