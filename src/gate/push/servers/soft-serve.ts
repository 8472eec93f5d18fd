/** soft-serve. */

import { fieldOf } from '../fields.ts';
import type { GitServer } from './server.ts';

export const softServeServer: GitServer = {
  isHere: fields => fieldOf(fields, 'SOFT_SERVE_REPO_NAME') !== '',
  actor: fields => fieldOf(fields, 'SOFT_SERVE_USERNAME'),
};
