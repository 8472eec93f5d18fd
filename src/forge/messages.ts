/** Messages between a reader and its thread. */

import type { ForgeFault } from './fault.ts';
import type { LfsObject } from './lfs-objects.ts';
import type { PlaceOwnerColumns } from './names.ts';
import type { ForgeMembers, ForgeOwner, Unowned } from './picture.ts';
import type { ForgeSettings } from './settings.ts';

/** The settings that the thread is started with. */
export interface ThreadSettings {
  readonly settings: ForgeSettings;
  /** For the hashes of repositories' names. */
  readonly seed: string;
}

/**
 * Kind of a reading: `new` reads what marks say has changed, `full` everything, and `anew` everything as if
 * it were the first time, so that all of it is reported again.
 */
export type ReadMode = 'new' | 'full' | 'anew';

/**
 * `more` asks for what comes after a chunk, so that the one who takes them is never given more than one at a
 * time. `lfs` asks for the LFS objects of the repository of this name, at other times too.
 */
export type Question =
  | { readonly ask: 'read'; readonly mode: ReadMode }
  | { readonly ask: 'more' }
  | { readonly ask: 'lfs'; readonly name: string };

export interface Request {
  readonly id: number;
  readonly question: Question;
}

/** The answer to the request with this id. */
export type Answer =
  | { readonly id: number; readonly found: Found }
  | { readonly id: number; readonly fault: Pick<ForgeFault, 'code' | 'mend' | 'message'> };

export type Found =
  /** Null: the reading has ended. */
  { readonly chunk: Chunk | null } | { readonly objects: readonly LfsObject[] };

/**
 * Some of a reading, in this order; what has not changed since the reading before is left out. Where nothing
 * has, there is no chunk.
 */
export type Chunk =
  /** The owners who are new, or other than before. */
  | { readonly is: 'owners'; readonly owners: readonly ForgeOwner[] }
  /** The ids of all owners. */
  | { readonly is: 'present'; readonly ids: Float64Array }
  | { readonly is: 'members'; readonly members: readonly ForgeMembers[] }
  | { readonly is: 'repositories'; readonly repositories: RepositoryNames }
  /**
   * The bytes of nobody, and figures that were other than before although no mark said so, by a full reading.
   */
  | { readonly is: 'rest'; readonly unowned: readonly Unowned[]; readonly drift: readonly FigureDrift[] }
  /** Lines of JSON, as sources report them; all of them together are the whole set. */
  | { readonly is: 'lines'; readonly bytes: Uint8Array };

export interface RepositoryNames {
  /** Hashes of the names of public repositories, ascending. */
  readonly publicHashes: Float64Array;
  /** The owners of repositories whose paths name none. */
  readonly owners: PlaceOwnerColumns | null;
  /** Names of repositories that have become public, private or another one's; null: too many to name. */
  readonly changed: readonly string[] | null;
}

export interface FigureDrift {
  readonly leaf: string;
  readonly owners: number;
  /** The sum of the differences. */
  readonly bytes: number;
}
