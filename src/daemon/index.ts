/** A running softquota: every part that the configuration names, put together. */

export { Daemon, type DaemonOptions } from './daemon.ts';
export { restoreInto } from './restore.ts';
