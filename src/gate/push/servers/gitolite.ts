/** gitolite: it sets GL_USER and GL_REPO together. */

import { fieldOf } from '../fields.ts';
import type { GitServer } from './server.ts';

export const gitoliteServer: GitServer = {
  isHere: fields => fieldOf(fields, 'GL_REPO') !== '',
  actor: fields => fieldOf(fields, 'GL_USER'),
};
