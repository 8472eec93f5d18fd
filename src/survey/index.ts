/**
 * Finds what lies under a directory of a git server: which layout, whose repositories they are, what else is
 * kept there.
 *
 * Only looks: nothing is written and nobody is asked. What it finds is data: storage settings that a
 * configuration can take as they are, the evidence for them, and all that they leave without an owner.
 */

export { type Accounts, parseAccounts, type SystemAccount, systemAccounts } from './accounts.ts';
export { surveyPlaces, wellKnownPlaces } from './places.ts';
export { type ConfigPlaces, configText, type ProposedTotal, proposeTotal } from './proposal.ts';
export type { RecognisedLayout, StorePlace } from './recognised.ts';
export type { FoundStore } from './stores.ts';
export { type Survey, survey } from './survey.ts';
