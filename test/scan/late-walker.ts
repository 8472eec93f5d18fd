/**
 * A walker thread whose clock is an hour late, which writes the path of each directory that it reads, a line
 * each, into the file that `SOFTQUOTA_TEST_READ` names.
 */

import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import './late.ts';

const { readdirSync, appendFileSync } = fs;
const file = process.env.SOFTQUOTA_TEST_READ ?? '';
Object.assign(fs, {
  readdirSync: (...given: readonly unknown[]) => {
    appendFileSync(file, `${String(given[0])}\n`);
    return Reflect.apply(readdirSync, fs, given);
  },
});
syncBuiltinESMExports();
await import('../../src/scan/io-worker.ts');
