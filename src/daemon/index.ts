/**
 * The composition root: opens every part that the configuration names, connects them, and stops them in
 * reverse order.
 */

export { Daemon } from './daemon.ts';
export { restoreInto } from './data-path.ts';
