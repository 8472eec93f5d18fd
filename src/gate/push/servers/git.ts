/** git itself, by sshd or a web server. */

import { basename } from 'node:path';
import { isQuarantineName } from '../../../layout/index.ts';
import { fieldOf } from '../fields.ts';
import type { GitServer } from './server.ts';

export const gitServer = {
  isHere: () => true,
  /**
   * sshd sets LOGNAME and SSH_CONNECTION after what a client sends; a web server sets REMOTE_USER, and a request
   * cannot.
   */
  actor: fields => {
    const account = fieldOf(fields, 'LOGNAME');
    return fieldOf(fields, 'SSH_CONNECTION') === '' ? fieldOf(fields, 'REMOTE_USER') || account : account;
  },
  /** Only the last name counts: the path before it may lead through a link, or elsewhere. */
  arriving: fields => {
    const name = basename(fieldOf(fields, 'GIT_QUARANTINE_PATH'));
    return isQuarantineName(name) ? { in: 'quarantine', name } : { in: 'unknown' };
  },
} as const satisfies GitServer;
