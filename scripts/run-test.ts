/**
 * Runs test files, in this process: `node scripts/run-test.ts FILE…`.
 *
 * tap watches every promise and every timer through Node's async hooks, to tell which subtest an error
 * belongs to that nobody catches. That takes some of the CPU time of each test, six percent in one
 * comparison. Here the hooks stay off: such an error belongs to the whole run, which fails all the same.
 *
 * Threads of softquota's start from dist/, where each is one file, instead of from the forty that Node would
 * strip types from. Where SOFTQUOTA_COVERAGE names a directory, what the tests cover is noted there.
 *
 * Closes with a line `# cpu=…ms`: for so long they, and the programs that they started and that have ended,
 * had a processor.
 *
 * Exit: as one file with all of their tests.
 */

import asyncHooks from 'node:async_hooks';
import { readFileSync, writeSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import threads from 'node:worker_threads';
import { bundledName, entries } from '../src/package.ts';
import { noteCoverage } from './coverage.ts';

const off: asyncHooks.AsyncHook = { enable: () => off, disable: () => off };
asyncHooks.createHook = () => off;

const root = new URL('../', import.meta.url);
const built = new Map(
  entries.map(entry => [
    new URL(`src/${entry}.ts`, root).href,
    new URL(`dist/${bundledName(entry)}.js`, root),
  ]),
);
const { Worker } = threads;
threads.Worker = class extends Worker {
  constructor(code: string | URL, options?: threads.WorkerOptions) {
    super(built.get(String(code)) ?? code, options);
  }
};
syncBuiltinESMExports();

/** Unit of the four figures in /proc: a hundredth of a second. */
const millisecondsPerTick = 10;

process.on('exit', () => {
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? [];
  const ticks = fields.slice(11, 15).reduce((sum, each) => sum + Number(each), 0);
  writeSync(1, `\n# cpu=${ticks * millisecondsPerTick}ms\n`);
});

const coverageDirectory = process.env.SOFTQUOTA_COVERAGE;
if (coverageDirectory !== undefined) noteCoverage(coverageDirectory);
process.argv.splice(1, 1);
// The first goes by its own name, by which tap calls folders.
const [, first = ''] = process.argv;
const others = process.argv.splice(2);
for (const file of [first, ...others]) await import(pathToFileURL(resolve(file)).href);
// A file that gives itself more time means its own tests.
if (others.length > 0) (await import('tap')).t.setTimeout(Number(process.env.TAP_TIMEOUT) * 1000);
