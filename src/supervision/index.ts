/**
 * What a service manager is told of the daemon: that it answers, that it is about to stop, and, as long as it
 * asks for that, that it is alive.
 *
 * Nothing is said that was not seen: before the manager hears that all is well, the gate has answered a
 * question that came over a connection of its own. Without a service manager this room does nothing.
 */

export { type Supervision, type SupervisionOptions, supervise } from './supervision.ts';
