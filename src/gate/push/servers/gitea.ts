/** Gitea and Forgejo. */

import { fieldOf, type PushFields } from '../fields.ts';
import type { GitServer } from './server.ts';

export const giteaServer: GitServer = {
  isHere: fields => fieldOf(fields, 'GITEA_REPO_NAME') !== '',
  actor: fields => fieldOf(fields, 'GITEA_PUSHER_NAME'),
  hidden: ['refs/pull/'],
};

/** The file of the forge beside which its hook runs this one. */
export const giteaFile = 'hooks/pre-receive.d/gitea';

/**
 * Tells whether this may be a push of the forge itself: opening a pull request from a fork pushes
 * `refs/pull/NUMBER/head` into the repository, and whoever opens it stores nothing of their own there. Neither
 * the refs nor the variable are enough alone; the variable counts only where `giteaFile` is.
 */
export function isInternal(fields: PushFields): boolean {
  return (
    fieldOf(fields, 'GITEA_INTERNAL_PUSH') === 'true' &&
    /(?:^|\/)pre-receive\.d\/[^/]+$/.test(fieldOf(fields, 'script'))
  );
}
