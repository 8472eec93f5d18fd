/**
 * Runs one test file, in this process: `node scripts/run-test.ts FILE`.
 *
 * tap watches every promise and every timer through Node's async hooks, to tell which subtest an error belongs
 * to that nobody catches. That takes some of the CPU time of each test, six percent in one comparison. Here the
 * hooks stay off: such an error belongs to the whole file, which fails all the same.
 *
 * Exit: as the file itself.
 */

import asyncHooks from 'node:async_hooks';
import { syncBuiltinESMExports } from 'node:module';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const off: asyncHooks.AsyncHook = { enable: () => off, disable: () => off };
asyncHooks.createHook = () => off;
syncBuiltinESMExports();

process.argv.splice(1, 1);
const [, file = ''] = process.argv;
await import(pathToFileURL(resolve(file)).href);
