/**
 * The composition root: opens every part that the configuration names, connects them, and stops them in
 * reverse order.
 */

export { Daemon, type DaemonOptions } from './daemon.ts';
export { restoreInto } from './restore.ts';
