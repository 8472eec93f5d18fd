/**
 * What is wrong between a push and an answer, each with the line that mends it.
 *
 * Looks at the configuration, the daemon and its sockets, the hooks and their settings, the rights of the
 * users that git runs as, and the repositories; changes nothing. What cannot be looked at, because no daemon
 * answers, the configuration is faulty, this user may not, or a disk hangs, is said, and all else is looked
 * at. Of very many repositories a part is looked at closely, and how many is said.
 */

export { type DoctorCode, doctorFindings } from './catalog.ts';
export { type Examination, examine } from './examine.ts';
export { withHangs } from './hangs.ts';
export type { Ask, HostContext, Installation, Loaded } from './installation.ts';
