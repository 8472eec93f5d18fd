/**
 * Runs one test file, in this process: `node scripts/run-test.ts FILE`.
 *
 * tap watches every promise and every timer through Node's async hooks, to tell which subtest an error belongs
 * to that nobody catches. That takes some of the CPU time of each test, six percent in one comparison. Here the
 * hooks stay off: such an error belongs to the whole file, which fails all the same.
 *
 * Closes with a line `# cpu=…ms`: for so long it, and the programs that it started and that have ended, had a
 * processor.
 *
 * Exit: as the file itself.
 */

import asyncHooks from 'node:async_hooks';
import { readFileSync, writeSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const off: asyncHooks.AsyncHook = { enable: () => off, disable: () => off };
asyncHooks.createHook = () => off;
syncBuiltinESMExports();

/** Of the four figures in /proc, each in hundredths of a second. */
const millisecondsPerTick = 10;

process.on('exit', () => {
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? [];
  const ticks = fields.slice(11, 15).reduce((sum, each) => sum + Number(each), 0);
  writeSync(1, `\n# cpu=${ticks * millisecondsPerTick}ms\n`);
});

process.argv.splice(1, 1);
const [, file = ''] = process.argv;
await import(pathToFileURL(resolve(file)).href);
