/**
 * The client for programs: asks the gate before an upload, reserves room for it, and reports what came.
 *
 * `import { createClient } from 'softquota/client'`. It needs only Node, reuses its connections, and answers
 * within its time-out: if the daemon does not, `onError` decides. It imports no other module, so that a
 * program that imports it loads no code of the daemon.
 */

export type * from './answers.ts';
export { createClient } from './client.ts';
export * from './errors.ts';
export type * from './questions.ts';
