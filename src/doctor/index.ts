/**
 * Finds problems between a push and an answer, each with its fix.
 *
 * It checks the configuration, the daemon and its sockets, the hooks and their settings, the permissions of
 * the users that git runs as, and the repositories; it changes nothing. If something cannot be checked,
 * because no daemon answers, the configuration has errors, this user has no permission, or a disk hangs,
 * doctor says so and checks everything else. Of very many repositories it checks only a part in detail, and
 * says how many.
 */

export { type DoctorCode, doctorFindings } from './catalog.ts';
export { type Examination, examine } from './examine.ts';
export { forgeReadFindings } from './forge.ts';
export { withHangs } from './hangs.ts';
export type { Ask, HostContext, Installation, Loaded } from './installation.ts';
