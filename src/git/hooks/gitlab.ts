/**
 * Repositories of GitLab: its Gitaly runs no hook that lies in a repository, so that there nothing is ever
 * asked.
 */

import type { ConfigFacts } from './config.ts';

/** Names that Gitaly gives the directories above repositories. */
const directories = ['@hashed', '@groups', '@snippets', '@pools', '@cluster'];

/**
 * The sign that a repository is one of GitLab's; null where there is none. Without its configuration only
 * its path is looked at.
 */
export function gitlabEvidence(path: string, facts: ConfigFacts | null): string | null {
  const directory = path.split('/').find(name => directories.includes(name));
  if (directory !== undefined) return `it is in ${directory}`;
  if (facts === null || facts.gitlabProject === null) return null;
  return 'its config has gitlab.fullpath; if GitLab no longer serves it, remove that';
}

/** Why hooks are of no use in such a repository. */
export function gitlabWords(evidence: string): string {
  return `a GitLab repository (${evidence}): GitLab does not run its hooks, so no push is checked or refused, except by a global hook (docs/forges/hooks.md)`;
}
