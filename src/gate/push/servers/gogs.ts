/** Gogs. */

import { fieldOf } from '../fields.ts';
import type { GitServer } from './server.ts';

export const gogsServer: GitServer = {
  isHere: fields => fieldOf(fields, 'GOGS_REPO_NAME') !== '',
  actor: fields => fieldOf(fields, 'GOGS_AUTH_USER_NAME'),
};
