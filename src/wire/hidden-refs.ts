/** Refs that forges reserve: nobody can push to them, although no git configuration says so. */

export const hiddenRefs = {
  gitea: ['refs/pull/'],
  gitlab: [
    'refs/keep-around/',
    'refs/merge-requests/',
    'refs/pipelines/',
    'refs/environments/',
    // Only in pools.
    'refs/dangling/',
  ],
} as const;

/** Returns true for refs that GitLab reserves. `name` is a ref, or the beginning of some. */
export function isKeptByGitlab(name: string): boolean {
  return hiddenRefs.gitlab.some(each => name.startsWith(each));
}

/** Explains the history that such refs hold, and the page on which it can be removed. */
export const gitlabMaintenance =
  'GitLab keeps it for merge requests and pipelines. An owner of the project removes it in the project: ' +
  'Settings, Repository, Repository maintenance.';
