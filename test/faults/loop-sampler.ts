/**
 * Loaded into a daemon (`--import`): tells on standard error, as a line like those of the log, whenever the
 * event loop was held.
 *
 * The measure is the processor's time of the main thread between two looks, some milliseconds apart where
 * nothing holds them up. Other processes that want the processor make that no longer, as they make all that a
 * clock tells.
 */

import { writeSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const everyMs = 5;
/** A look itself may come so late. */
const mostMs = 50 + everyMs;
const standardError = 2;

if (isMainThread) {
  let before = process.threadCpuUsage();
  setInterval(() => {
    const { user, system } = process.threadCpuUsage(before);
    before = process.threadCpuUsage();
    const heldMs = (user + system) / 1000;
    // Loading at the start takes longer, and nobody is served then.
    if (heldMs > mostMs) tell({ msg: 'the event loop was held', heldMs, at: Date.now() });
  }, everyMs).unref();
}

function tell(line: object): void {
  writeSync(standardError, `${JSON.stringify({ level: 30, ...line })}\n`);
}
