/**
 * Writes into a SQLite file again and again, as a forge does: with its journal mode, and as patient as it is.
 * Prints a line when it has begun, and at the end of its standard input what became of its writes.
 */

import { DatabaseSync } from 'node:sqlite';
import { setTimeout } from 'node:timers/promises';

/** Gitea's own patience, in milliseconds. */
const timeout = 500;
/** Hundreds of writes a second, which is far more than a forge does. */
const restMs = 1;

const [file = ''] = process.argv.slice(2);
const db = new DatabaseSync(file, { timeout });
const write = db.prepare('UPDATE user SET last_login_unix = ? WHERE id = 1');
let isEnding = false;
process.stdin.resume().on('end', () => {
  isEnding = true;
});

const result = { writes: 0, refused: 0, longestMs: 0 };
while (!isEnding) {
  const start = performance.now();
  try {
    write.run(result.writes);
    result.writes++;
    if (result.writes === 1) process.stdout.write('begun\n');
  } catch {
    result.refused++;
  }
  result.longestMs = Math.max(result.longestMs, performance.now() - start);
  await setTimeout(restMs);
}
process.stdout.write(`${JSON.stringify(result)}\n`);
