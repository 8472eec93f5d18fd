/** The state of the hooks of repositories. */

import { readFacts } from './config.ts';
import { inEach, type RepositoryFault } from './each.ts';
import { gitlabEvidence, gitlabWords } from './gitlab.ts';
import { type HookName, hookNames } from './hook.ts';
import { type HooksPath, hooksPathFinder } from './hooks-path.ts';
import { absentHooks, type HookState, runFolder, statesIn } from './inspect.ts';
import { oldFiles } from './old-settings.ts';

interface ReadStatus {
  readonly repository: string;
  readonly hooks: Readonly<Record<HookName, HookState>>;
  /** The setting by which git takes hooks from elsewhere; null: there is none. */
  readonly hooksPath: HooksPath | null;
  /** Tells whether its own config file has clients asked for signed pushes. */
  readonly signedPushes: boolean;
  /** Why git runs no hooks there at all, whatever lies in it; null where it does. */
  readonly gitlab: string | null;
  /** Settings or files of release 0.1 in the repository, in words; null: there are none. */
  readonly leftovers: string | null;
}

export type RepositoryStatus = ReadStatus | RepositoryFault;

/** Tells whether pushes to it are asked about, and reported, by this version's hooks. */
export function isProtected(status: RepositoryStatus): boolean {
  if ('fault' in status || status.gitlab !== null) return false;
  if (status.hooksPath !== null) return status.hooksPath.ours;
  return hookNames.every(name => status.hooks[name].state === 'ours');
}

/** Changes nothing. */
export async function hooksStatus(repositories: readonly string[]): Promise<readonly RepositoryStatus[]> {
  const findHooksPath = hooksPathFinder();
  return inEach(repositories, async (repository, path): Promise<ReadStatus> => {
    const facts = readFacts(repository);
    const gitlab = gitlabEvidence(path, facts);
    await using hooks = await runFolder(repository);
    const files = await oldFiles(repository);
    const left = [...(facts.oldSettings.size > 0 ? ['softquota.* settings'] : []), ...files];
    return {
      repository: path,
      hooks: hooks === null ? absentHooks : await statesIn(hooks),
      hooksPath: await findHooksPath(repository, facts),
      signedPushes: facts.signedPushes,
      gitlab: gitlab === null ? null : gitlabWords(gitlab),
      leftovers: left.length === 0 ? null : left.join(', '),
    };
  });
}
