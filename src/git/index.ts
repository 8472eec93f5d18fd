/**
 * The git side: installs the hooks of this package into repositories, and works in repositories as the user
 * that git runs as.
 *
 * `hooks/` finds repositories, installs the hooks, shows their status, and removes them. An error in one
 * repository is a value in its result, and does not delay the others. Nothing is written through a link,
 * every file is replaced in one step, and a hook that was there before never stops running. Nothing is
 * printed.
 *
 * `worker/` is the program that changes repositories, and reports to the daemon: it keeps the hooks, judges
 * refused pushes that would make a repository smaller, removes what broken pushes leave behind, measures and
 * collects unreachable objects, and finds out what would free how much. The daemon itself never writes into a
 * repository. The worker goes on while the daemon is away. It runs git on files of strangers, so that git
 * never reads a repository's configuration, has no network and no terminal, and ends in bounded time.
 */

export { asks, findClient, findProgram, programFolders } from './hooks/client.ts';
export { configSetting } from './hooks/config.ts';
export { findRepositories, type UnreadPlace } from './hooks/find.ts';
export type { RepositoryFault } from './hooks/folder.ts';
export {
  commonStatus,
  distributeHooks,
  findGitolite,
  type Gitolite,
  type WithdrawReport,
  withdrawHooks,
} from './hooks/gitolite.ts';
export {
  type Client,
  filled,
  type HookSettings,
  hookNames,
  isOurs,
  parsePolicies,
} from './hooks/hook.ts';
export {
  type HookState,
  type HooksPath,
  hooksStatus,
  isProtected,
  type RepositoryStatus,
} from './hooks/inspect.ts';
export {
  type InstalledHook,
  type InstalledHooks,
  type InstallResult,
  installHooks,
  removeHooks,
  type WantedSettings,
} from './hooks/install.ts';
export {
  type ForgeTemplate,
  type GlobalHooks,
  installGlobally,
  removeForgeTemplates,
  writeForgeTemplates,
  writePrograms,
} from './hooks/template.ts';
export { findGits } from './worker/space/git.ts';
export { Worker, type WorkerOptions } from './worker/worker.ts';
