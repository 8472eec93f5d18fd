/**
 * A program that writes batches until it is killed: `node endless-writer.ts FILE`.
 *
 * Several are under way at any time. On stdout a line for each that was acknowledged, in order:
 * its number; on stderr and with exit code 1 what it could not do.
 */

import { openStore } from '../../src/store/index.ts';
import { batch, batchIn } from './batches.ts';
import { allIn } from './model.ts';

const [file = ''] = process.argv.slice(2);
const store = await openStore({ file });
let last = batchIn(await allIn(store));

async function writeOn(): Promise<void> {
  for (;;) {
    const n = ++last;
    await store.write(batch(n));
    process.stdout.write(`${n}\n`);
  }
}

await Promise.all(Array.from({ length: 4 }, writeOn));
