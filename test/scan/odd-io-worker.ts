/**
 * An I/O worker thread that comes back from a path that ends with `hang` only when somebody has opened the
 * pipe beside it to write.
 */

import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const { closeSync, lstatSync, openSync } = fs;
Object.assign(fs, {
  lstatSync: (...given: readonly unknown[]) => {
    // A thread in a call to the system cannot be ended.
    if (String(given[0]).endsWith('hang')) closeSync(openSync(`${given[0]}-release`, 'r'));
    return Reflect.apply(lstatSync, fs, given);
  },
});
syncBuiltinESMExports();
await import('../../src/scan/io-worker.ts');
