/** Reports of `softquota hooks` as --json prints them. The keys of `hooks` are the names of git's hooks. */

import type {
  CommonStatus,
  DistributeReport,
  ForgeTemplate,
  Gitolite,
  InstallReport,
  InstallResult,
  RepositorySettings,
  RepositoryStatus,
  StatusReport,
  WithdrawReport,
} from '../git/index.ts';

/** `forges`: the templates that were written for forges. */
export function installJson(
  { repositories, hookConf, client, shared, wholeBecause, future }: InstallReport,
  forges: readonly ForgeTemplate[] = [],
): object {
  return {
    repositories: repositories.map(installedJson),
    hook_conf: hookConf,
    client,
    shared,
    whole_because: wholeBecause,
    future: {
      template_dir: future.templateDir,
      hook_conf: future.hookConf,
      gitolite_conf: future.gitoliteConf,
      forges,
    },
  };
}

export function distributeJson({ gitolite, hooks, repositories }: DistributeReport): object {
  return { gitolite: gitoliteJson(gitolite), hooks, repositories: installJson(repositories) };
}

/** `common`: how they stand where gitolite takes them from; null where it is not asked about. */
export function statusJson({ repositories, hookConf }: StatusReport, common: CommonStatus | null): object {
  return {
    repositories: repositories.map(repositoryJson),
    hook_conf: hookConf,
    ...(common === null ? {} : { common: { gitolite: gitoliteJson(common.gitolite), hooks: common.hooks } }),
  };
}

export function withdrawJson({ gitolite, hooks, repositories }: WithdrawReport): object {
  return { gitolite: gitoliteJson(gitolite), hooks, repositories };
}

function installedJson(result: InstallResult): object {
  if ('fault' in result) return result;
  const { hooksPath, ...others } = result;
  return { ...others, hooks_path: hooksPath };
}

function repositoryJson(status: RepositoryStatus): object {
  if ('fault' in status) return status;
  const { settings, hooksPath, signedPushes, ...others } = status;
  return {
    ...others,
    settings: settingsJson(settings),
    hooks_path: hooksPath,
    signed_pushes: signedPushes,
  };
}

function settingsJson({
  onError,
  lastFor,
  judgeTimeout,
  hooksPath,
  gitlabProject,
  ...others
}: RepositorySettings): object {
  return {
    ...others,
    on_error: onError,
    last_for: lastFor,
    judge_timeout: judgeTimeout,
    hooks_path: hooksPath,
    gitlab_project: gitlabProject,
  };
}

function gitoliteJson({ user, home, repositories, common, overriding, isPushed }: Gitolite): object {
  return { user, home, repositories, common, overriding, is_pushed: isPushed };
}
