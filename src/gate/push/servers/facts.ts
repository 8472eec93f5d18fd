/** Reads a push's facts from the variables of all servers that a hook has. */

import { nameFault } from '../../../quota/index.ts';
import { fieldOf, type PushFields } from '../fields.ts';
import { gitServer } from './git.ts';
import { giteaServer } from './gitea.ts';
import { gitlabServer } from './gitlab.ts';
import { gitoliteServer } from './gitolite.ts';
import { gogsServer } from './gogs.ts';
import type { Arriving, Claim, GitServer } from './server.ts';
import { softServeServer } from './soft-serve.ts';

/** A later one knows better than those before it. */
const servers: readonly GitServer[] = [
  gitServer,
  gitoliteServer,
  giteaServer,
  gogsServer,
  gitlabServer,
  softServeServer,
];

export interface ServerFacts {
  /** Empty where nobody says, or says no name. No decision depends on it. */
  readonly actor: string;
  /** The directory of the repository. */
  readonly directory: string;
  readonly arriving: Arriving;
  readonly claim: Claim | null;
  readonly hidden: readonly string[];
  readonly prefix: string;
}

export function serverFacts(fields: PushFields): ServerFacts {
  const here = servers.filter(server => server.isHere(fields));
  const given = fieldOf(fields, 'directory');
  const named = here.map(server => server.actor(fields)).findLast(name => name !== '') ?? '';
  return {
    actor: nameFault(named) === null ? named : '',
    directory: here.reduce((directory, server) => server.directory?.(directory) ?? directory, given),
    // git sets its variable itself, after whatever whoever pushes has set.
    arriving: arrivingBy(fieldOf(fields, 'GIT_QUARANTINE_PATH') === '' ? here : [gitServer], fields),
    claim: here.findLast(server => server.claim !== undefined)?.claim?.(fields) ?? null,
    hidden: here.flatMap(server => server.hidden ?? []),
    prefix: here.findLast(server => server.prefix !== undefined)?.prefix ?? '',
  };
}

function arrivingBy(here: readonly GitServer[], fields: PushFields): Arriving {
  return here.findLast(server => server.arriving !== undefined)?.arriving?.(fields) ?? { in: 'unknown' };
}
