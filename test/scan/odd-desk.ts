/** A desk thread that does not come back from a path with `hang` in it for some seconds. */

import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const { lstatSync } = fs;
Object.assign(fs, {
  lstatSync: (...given: readonly unknown[]) => {
    // A thread in a call to the system cannot be ended.
    if (String(given[0]).endsWith('hang')) spawnSync('sleep', ['4']);
    return Reflect.apply(lstatSync, fs, given);
  },
});
syncBuiltinESMExports();
await import('../../src/scan/desk.ts');
