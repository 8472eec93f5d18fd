/** The facts about a push that depend on the server which runs the hook. */

import type { Leaf } from '../../../quota/index.ts';
import type { PushFields } from '../fields.ts';

/** The place of a push's objects until it is accepted. */
export type Arriving =
  /** A quarantine, named as `quarantinePath` takes it. */
  | { readonly in: 'quarantine'; readonly name: string }
  /** The server says that the push brings none. */
  | { readonly in: 'nothing' }
  /** git made no quarantine that could be looked at. */
  | { readonly in: 'unknown' };

/** The owner and the leaf of a repository by the variables of its server. */
export interface Claim {
  readonly ownerName: string;
  readonly leaf: Leaf;
}

/** Each function reads fields of a push whose `isHere` is true. */
export interface GitServer {
  /** Tells whether this server runs the hook. Several may, such as gitolite and sshd. */
  isHere(fields: PushFields): boolean;
  /** The pusher's name, for the record; empty where the server does not say. */
  actor(fields: PushFields): string;
  /** The repository's directory; absent: the one in which the hook runs. */
  directory?(directory: string): string;
  /** Absent: git's own variables say it. */
  arriving?(fields: PushFields): Arriving;
  /** The owner of a repository that no template matches; null: nobody says. */
  claim?(fields: PushFields): Claim | null;
  /** Beginnings of the names of refs that the server hides, besides those of git's configuration. */
  readonly hidden?: readonly string[];
  /** Stands before each line that the pusher reads. */
  readonly prefix?: string;
}
