/**
 * A walker thread that meets with accidents where a directory's path asks for them: `poison` ends the thread,
 * `slow` takes 10 ms for each directory, and `held` waits until the file `go` is in the directory above.
 */

import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { dirname } from 'node:path';

const { readdirSync } = fs;
const rest = (milliseconds: number) =>
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
Object.assign(fs, {
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
