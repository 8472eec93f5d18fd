/**
 * The git side: finds repositories, installs the hooks of this package, shows their status, and removes them.
 *
 * An error in one repository is a value in its result, and does not delay the others. Nothing is written
 * through a link, every file is replaced in one step, and a hook that was there before never stops running.
 * Nothing is printed.
 */

export {
  type Client,
  clientFault,
  findProgram,
  isClient,
  programFolders,
  type QuickClient,
} from './client.ts';
export {
  type CommonStatus,
  commonStatus,
  type DistributeReport,
  distributeHooks,
  type WithdrawReport,
  withdrawHooks,
} from './distribute.ts';
export type { RepositoryFault } from './each.ts';
export { type FoundRepositories, findRepositories, type UnreadPlace } from './find.ts';
export type { FutureRepositories } from './future.ts';
export { findGitolite, type Gitolite } from './gitolite.ts';
export { Guard, type Guarded, type GuardOptions, hooksSignature } from './guard.ts';
export { type HookName, hookNames, hooksDirectory, previousFile } from './hook.ts';
export type { HooksPath } from './hooks-path.ts';
export { type HookState, isThisVersion } from './inspect.ts';
export {
  type InstallDone,
  type InstalledHook,
  type InstallOptions,
  type InstallReport,
  type InstallResult,
  installHooks,
  type OnError,
  parseLastFor,
  parseOnError,
} from './install.ts';
export { reasonOf } from './reason.ts';
export { type RemoveDone, type RemovedHook, type RemoveResult, removeHooks } from './remove.ts';
export {
  defaultSocket,
  type HookConf,
  hookConfPath,
  isLastFor,
  type RepositorySettings,
  withoutBlanks,
} from './settings.ts';
export { packageShared, type SharedPlace, stub, writeShared } from './shared.ts';
export { configAsksForSignedPushes } from './signed-pushes.ts';
export { hooksStatus, isProtected, type RepositoryStatus, type StatusReport } from './status.ts';
export {
  type ForgeTemplate,
  type RemovedTemplate,
  removeForgeTemplates,
  writeForgeTemplates,
} from './template.ts';
