/** What the servers whose variables a hook has say together. */

import { nameFault } from '../../../quota/index.ts';
import { type Fields, fieldOf } from '../fields.ts';
import { git } from './git.ts';
import { gitea } from './gitea.ts';
import { gitlab } from './gitlab.ts';
import { gitolite } from './gitolite.ts';
import { gogs } from './gogs.ts';
import type { Arriving, Claim, GitServer } from './server.ts';
import { softServe } from './soft-serve.ts';

/** A later one knows better than those before it. */
const servers: readonly GitServer[] = [git, gitolite, gitea, gogs, gitlab, softServe];

export interface ServerFacts {
  /** Empty where nobody says, or says no name. No decision depends on it. */
  readonly actor: string;
  /** Of the repository. */
  readonly directory: string;
  readonly arriving: Arriving;
  readonly claim: Claim | null;
  readonly hidden: readonly string[];
  readonly prefix: string;
}

export function factsOf(fields: Fields): ServerFacts {
  const here = servers.filter(server => server.isHere(fields));
  const given = fieldOf(fields, 'directory');
  const named = here.map(server => server.actor(fields)).findLast(name => name !== '') ?? '';
  return {
    actor: nameFault(named) === null ? named : '',
    directory: here.reduce((directory, server) => server.directory?.(directory) ?? directory, given),
    // git sets its variable itself, after whatever whoever pushes has set.
    arriving: arrivingBy(fieldOf(fields, 'GIT_QUARANTINE_PATH') === '' ? here : [git], fields),
    claim: here.findLast(server => server.claim !== undefined)?.claim?.(fields) ?? null,
    hidden: here.flatMap(server => server.hidden ?? []),
    prefix: here.findLast(server => server.prefix !== undefined)?.prefix ?? '',
  };
}

function arrivingBy(here: readonly GitServer[], fields: Fields): Arriving {
  return here.findLast(server => server.arriving !== undefined)?.arriving?.(fields) ?? { in: 'unknown' };
}
