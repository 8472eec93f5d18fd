/** The daemon's log. */

export { createLogger, type Logger } from './logger.ts';
