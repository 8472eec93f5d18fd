/**
 * The daemon as a service of its host: its log, and what the service manager is told.
 *
 * Nothing is said to the service manager that was not seen: before it hears that all is well, the gate has
 * answered a question that came over a connection of its own.
 */

export { createLogger, type Logger } from './logger.ts';
export { type Supervision, type SupervisionOptions, supervise } from './supervision.ts';
