/**
 * The worker: runs as the user that git runs as, does what has to be written into repositories, and tells the daemon
 * how it stands: keeps the hooks, measures and collects what no ref reaches, and says what would free how much.
 *
 * The daemon itself never writes into a repository. The worker goes on while the daemon is away, and a fault in one
 * repository is a value that delays no other. git runs on files of strangers here, so it never reads a repository's
 * configuration, has no network and no terminal, and ends in bounded time.
 */

export type { JobReport, WorkerReport } from './report.ts';
export { findGit } from './space/git-version.ts';
export { Worker, type WorkerOptions } from './worker.ts';
