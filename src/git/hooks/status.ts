/** Telling how things stand with the hooks of repositories. */

import { inEach, type RepositoryFault } from './each.ts';
import type { Folder } from './folder.ts';
import { gitlabEvidence, gitlabWords } from './gitlab.ts';
import { type HookName, hookNames } from './hook.ts';
import { type HooksPath, hooksPathFinder } from './hooks-path.ts';
import { type HookState, stateThrough } from './inspect.ts';
import { runFolder } from './run-folder.ts';
import {
  type HookConf,
  hookConfPath,
  type RepositorySettings,
  readHookConf,
  readSettings,
} from './settings.ts';
import { repositoryAsksForSignedPushes } from './signed-pushes.ts';

interface ReadStatus {
  readonly repository: string;
  readonly hooks: Readonly<Record<HookName, HookState>>;
  /** As they are written; they count where there is no hook.conf. */
  readonly settings: RepositorySettings;
  /** Where git runs other hooks than these. */
  readonly hooksPath: HooksPath | null;
  /** Tells whether its own config file has clients asked for signed pushes. */
  readonly signedPushes: boolean;
  /** Why git runs no hooks there at all, whatever lies in it; null where it does. */
  readonly gitlab: string | null;
}

export type RepositoryStatus = ReadStatus | RepositoryFault;

export interface StatusReport {
  readonly repositories: readonly RepositoryStatus[];
  readonly hookConf: HookConf | null;
}

/** Tells whether pushes to it are asked about, and told, by this version's hooks. */
export function isProtected(status: RepositoryStatus): boolean {
  if ('fault' in status || status.gitlab !== null) return false;
  if (status.hooksPath !== null) return status.hooksPath.ours;
  return hookNames.every(name => {
    const hook = status.hooks[name];
    return hook.state === 'installed' && hook.current;
  });
}

/** Changes nothing. */
export async function hooksStatus(
  repositories: readonly string[],
  options: { readonly hookConf?: string } = {},
): Promise<StatusReport> {
  const findHooksPath = hooksPathFinder();
  const results = await inEach(repositories, undefined, async (repository, path): Promise<ReadStatus> => {
    const settings = await readSettings(repository);
    const hooks = await statesIn(repository);
    const gitlab = gitlabEvidence(path, settings);
    return {
      repository: path,
      hooks,
      settings,
      hooksPath: await findHooksPath(repository, settings),
      signedPushes: await repositoryAsksForSignedPushes(repository),
      gitlab: gitlab === null ? null : gitlabWords(gitlab),
    };
  });
  return { repositories: results, hookConf: readHookConf(options.hookConf ?? hookConfPath) };
}

async function statesIn(repository: Folder): Promise<Record<HookName, HookState>> {
  const states: Record<HookName, HookState> = {
    'pre-receive': { state: 'absent' },
    'post-receive': { state: 'absent' },
  };
  const hooks = await runFolder(repository);
  if (hooks === null) return states;
  try {
    for (const name of hookNames) {
      states[name] = await stateThrough(hooks, name);
    }
    return states;
  } finally {
    await hooks.close();
  }
}
