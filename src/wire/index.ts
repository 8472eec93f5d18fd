/**
 * The shapes of the API's requests and answers, as schemas. The daemon's types and the API's description come
 * from them, and the commands parse answers with them. Sizes are bytes, times ISO 8601.
 */

export { type Finding, finding, versionReport } from './about.ts';
export {
  claimed,
  type Link,
  link,
  type NewSource,
  newLink,
  newSource,
  type SavedSource,
  type Source,
  type SourceEdit,
  type Synchronization,
  savedSource,
  source,
  sourceEdit,
  synchronization,
  type TriedSource,
  type TriedSynchronization,
  triedClaims,
  triedSource,
  triedSynchronization,
} from './auths.ts';
export { knownName, longestValidators, mark, mostOf, queryNumber, text } from './bounds.ts';
export { type Fault, fault } from './fault.ts';
export {
  type Disk,
  type Growth,
  type History,
  type HistoryRange,
  history,
  historyRanges,
  type Overview,
  overview,
  type RefusalsOfDay,
  type UnownedKind,
} from './figures.ts';
export {
  type CopiedTo,
  copiedTo,
  copyOrder,
  type FleetHost,
  fleetHost,
  repairOrder,
  type SharedStore,
  sharedStore,
} from './fleet.ts';
export { graceMostFrom, graceMsFrom } from './grace.ts';
export { claimKind, type Mapping, mappingIn, quotaGroupsIn, unmappedIn } from './mapping.ts';
export {
  type MailWish,
  mailWish,
  mailWishEdit,
  type NoticeDelivery,
  type NoticeList,
  type NoticePlace,
  type NoticesSentAgain,
  type NoticeTest,
  noticeList,
  noticesSentAgain,
  noticeTest,
  noticeTestOrder,
} from './notices.ts';
export { addressOf, type PageId, placeAt, wayBack } from './pages.ts';
export {
  askedSize,
  askedSubject,
  type Group,
  group,
  limit,
  type NewRule,
  newGroup,
  newRule,
  type OwnQuotaInfo,
  ownersGroups,
  ownQuotaInfo,
  type QuotaInfo,
  quotaInfo,
  type Rule,
  type RuleEdit,
  rule,
  ruleEdit,
} from './policy.ts';
export {
  type ChangedOwner,
  type DraftPolicy,
  draftPolicy,
  type Explanation,
  explanation,
  type LintFault,
  policyFault,
  type Simulation,
  simulation,
} from './reasoning.ts';
export {
  type Allowance,
  allowance,
  declineOrder,
  grantOrder,
  newAllowance,
  newRequest,
  requestStates,
  type SpaceRequest,
  spaceRequest,
} from './requests.ts';
export { type ScanReport, scanOrder, scanReport } from './scans.ts';
export {
  type AnySession,
  anySession,
  type OfferedSource,
  offeredSource,
  type Session,
  type SessionRow,
  session,
  sessionRow,
  signIn,
  signInLink,
} from './sessions.ts';
export type { SignInFaultCode } from './sign-in-faults.ts';
export {
  type ReclaimRun,
  type RepositorySpace,
  reclaimOrder,
  reclaimRun,
  type SpaceAnswer,
  type SpaceReport,
  spaceAnswer,
  spaceReport,
} from './space.ts';
export {
  type AnyToken,
  anyToken,
  type CreatedToken,
  createdToken,
  type NewToken,
  newToken,
  type Token,
  token,
} from './tokens.ts';
export {
  type AnyUnit,
  anyUnit,
  type OwnerReport,
  type OwnerRow,
  type OwnerState,
  type OwnReport,
  ownerReport,
  ownerRow,
  ownerStates,
  ownerType,
  ownReport,
  type UnitRow,
  usedUnit,
  type Verdict,
  verdict,
} from './usage.ts';
export {
  type Member,
  member,
  membership,
  type NewUser,
  newUser,
  type User,
  type UserEdit,
  user,
  userEdit,
} from './users.ts';
export { allowanceAdded, graceAdded, verdictShown } from './verdict.ts';
export {
  type NewWholePolicy,
  newWholePolicy,
  newWholeRule,
  type ReplacedPolicy,
  replacedPolicy,
  type WholePolicy,
  wholePolicy,
} from './whole-policy.ts';
export {
  lfsAnswer,
  lfsQuestion,
  type PushJudgement,
  type RepositoryFigures,
  type WorkerReport,
  type WorkerTask,
  workerAnswers,
  workerReport,
  workerTask,
} from './worker.ts';
