/**
 * The composition root: opens every part that the configuration names, puts them together, and stops them in
 * reverse.
 */

export { Daemon, type DaemonOptions } from './daemon.ts';
export { restoreInto } from './restore.ts';
