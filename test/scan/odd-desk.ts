/** A desk thread that comes back from a path that ends with `hang` only when somebody writes to the pipe beside it. */

import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const { lstatSync, readFileSync } = fs;
Object.assign(fs, {
  lstatSync: (...given: readonly unknown[]) => {
    // A thread in a call to the system cannot be ended.
    if (String(given[0]).endsWith('hang')) readFileSync(`${given[0]}-release`);
    return Reflect.apply(lstatSync, fs, given);
  },
});
syncBuiltinESMExports();
await import('../../src/scan/desk.ts');
