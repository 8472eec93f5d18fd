/**
 * The worker: runs as the user that git runs as, does what has to be written into repositories, and tells the daemon
 * how it stands.
 *
 * The daemon itself never writes into a repository. The worker goes on while the daemon is away, and a fault in one
 * repository is a value that delays no other.
 */

export type { JobReport, WorkerReport } from './report.ts';
export { Worker, type WorkerOptions } from './worker.ts';
