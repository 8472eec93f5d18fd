/**
 * Finds out what is in a directory of a git server: the layout, the owners of the repositories, and other
 * data.
 *
 * It only looks: it writes nothing and asks nobody. The result is data: storage settings that a configuration
 * can use unchanged, the evidence for them, and everything that they leave without an owner.
 */

export { type Accounts, parseAccounts, type SystemAccount, systemAccounts } from './accounts.ts';
export { surveyPlaces, wellKnownPlaces } from './places.ts';
export {
  type ConfigPlaces,
  configText,
  type ForgeSection,
  type ProposedTotal,
  proposeTotal,
} from './proposal.ts';
export type { ForgeFound, RecognisedLayout, StorePlace } from './recognised.ts';
export type { FoundStore } from './stores.ts';
export { type Survey, survey } from './survey.ts';
