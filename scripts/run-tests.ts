/**
 * Runs the tests and closes with one line, `N passed, N failed`.
 *
 * In: paths of test files, or nothing for all. Exit: 0 all passed, 1 not. A run in which no test was
 * counted has failed.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** Seconds that one file may take in a long run; a short one takes what .taprc says. */
const longTimeout = 1800;

const timeout = process.env.SOFTQUOTA_LONG === '1' ? [`--timeout=${longTimeout}`] : [];
const runner = spawn('tap', ['run', '--reporter=tap', ...timeout, ...process.argv.slice(2)], {
  stdio: ['ignore', 'pipe', 'inherit'],
});

let passed = 0;
let failed = 0;
/** The lines of the test file that is running, shown only where it fails. */
let waiting: string[] = [];

for await (const line of createInterface({ input: runner.stdout })) {
  waiting.push(line);
  // Assertions and subtests alike carry a line of their own; only the innermost, without a plan below, are
  // counted by the totals that the runner closes with.
  const total = /^# \{ total: (\d+)(?:, pass: (\d+))?(?:, fail: (\d+))?/.exec(line);
  if (total !== null) {
    passed = Number(total[2] ?? 0);
    failed = Number(total[1]) - passed;
  }
  const file = /^(not )?ok \d+ - (\S+)(.*)/.exec(line);
  if (file === null) continue;
  process.stdout.write(file[1] === undefined ? `${line}\n` : `${waiting.join('\n')}\n`);
  waiting = [];
}
await once(runner, 'close');
if (runner.exitCode !== 0 && failed === 0) failed = 1;
if (failed > 0) process.stdout.write(`${waiting.join('\n')}\n`);
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exitCode = passed > 0 && failed === 0 ? 0 : 1;
