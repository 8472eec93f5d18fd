/** What the daemon tells of itself while it runs: its log. */

export { createLogger, type Logger } from './logger.ts';
