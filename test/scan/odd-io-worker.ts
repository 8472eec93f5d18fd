/**
 * A thread that reads disks and meets with accidents where a path asks for them: `poison` ends the thread,
 * `slow` takes 10 ms for each directory, and `held` waits until the file `go` is in the directory above. From
 * a path that ends with `hang` it comes back only when somebody has opened the pipe beside it to write.
 */

import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { dirname } from 'node:path';

const { closeSync, lstatSync, openSync, readdirSync } = fs;
const rest = (milliseconds: number) =>
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
Object.assign(fs, {
  lstatSync: (...given: readonly unknown[]) => {
    // A thread in a call to the system cannot be ended.
    if (String(given[0]).endsWith('hang')) closeSync(openSync(`${given[0]}-release`, 'r'));
    return Reflect.apply(lstatSync, fs, given);
  },
  readdirSync: (...given: readonly unknown[]) => {
    const path = String(given[0]);
    if (path.includes('poison')) process.exit(3);
    if (path.includes('slow')) rest(10);
    while (/held[^/]*$/.test(path) && !fs.existsSync(`${dirname(path)}/go`)) rest(5);
    return Reflect.apply(readdirSync, fs, given);
  },
});
syncBuiltinESMExports();
await import('../../src/scan/io-worker.ts');
