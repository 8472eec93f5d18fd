/**
 * Looks at this host: finds problems between a push and an answer, each with its fix, and what is in a
 * directory of a git server, for a new configuration.
 *
 * It checks the configuration, the daemon and its sockets, the hooks and their settings, the permissions of
 * the users that git runs as, and the repositories; it changes nothing. If something cannot be checked,
 * because no daemon answers, the configuration has errors, this user has no permission, or a disk hangs,
 * doctor says so and checks everything else. If there are very many repositories, it checks a part in detail,
 * and says how many. A survey is data: storage settings that a configuration can use unchanged, the evidence
 * for them, and everything that they leave without an owner.
 */

export { type Examination, examine, withHangs } from './examine.ts';
export { forgeReadFindings } from './forge.ts';
export { missingGits } from './git-setup.ts';
export type { Ask, Installation } from './installation.ts';
export type { Sized } from './survey/billing.ts';
export type { ForgeFound, RecognisedLayout } from './survey/plain.ts';
export { type Survey, survey, surveyPlaces, wellKnownPlaces } from './survey/survey.ts';
