/** Refs that forges keep for themselves: nobody can push to them, and no configuration of git says so. */

export const hiddenRefs = {
  gitea: ['refs/pull/'],
  gitlab: [
    'refs/keep-around/',
    'refs/merge-requests/',
    'refs/pipelines/',
    'refs/environments/',
    // In pools.
    'refs/dangling/',
  ],
} as const;

export const everyHiddenRef: readonly string[] = Object.values(hiddenRefs).flat();

/** `name`: of a ref, or the beginning of some. */
export function isKeptByGitlab(name: string): boolean {
  return hiddenRefs.gitlab.some(each => name.startsWith(each));
}

/** The words about the history that such refs hold, and the page on which a person removes it. */
export const gitlabMaintenance =
  'GitLab keeps it for merge requests and pipelines. An owner of the project removes it in the project: ' +
  'Settings, Repository, Repository maintenance.';
