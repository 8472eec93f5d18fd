/**
 * The daemon as a service of its host: its log, and its messages to the service manager.
 *
 * The service manager is only told what was checked: before it hears that the daemon is ready, the gate has
 * answered a request over a connection of its own.
 */

export { keepHeapSmall } from './heap.ts';
export { createLogger, type Logger } from './logger.ts';
export { type Supervision, type SupervisionOptions, supervise } from './supervision.ts';
