/** Kinds of documents: the schema of each kind, and the part of its documents that the audit log shows. */

import type { z } from 'zod';

/**
 * The guarantee for documents of a kind.
 *
 * `versioned`: each change builds on the one before, and is replicated as configured. `volatile`: documents
 * that use creates again, such as sessions. They have no version, of two writers the last one wins, and
 * backups do not have them.
 */
export type Durability = 'versioned' | 'volatile';

/** A kind of documents. The store identifies it by its name. */
export interface Kind<T> {
  readonly name: string;
  readonly durability: Durability;
  readonly schema: z.ZodType<T>;
  /**
   * Returns the part of a document that the audit log shows, so nothing secret. A change that leaves it equal
   * has no event. For a kind without `describe` the log says only that a document was changed; for a volatile
   * kind without it, nothing.
   */
  describe?(key: string, document: T, nameOf: (ownerId: number) => string): Description;
  /** Returns the id of the owner that a document belongs to, for `ofOwner`. */
  ownerOf?(document: T): number;
}

export interface Description {
  readonly name: string | null;
  /** The id of the owner that it belongs to; null: none. */
  readonly ownerId: number | null;
  /** An object that can be written as JSON, with the names and formats of the API. */
  readonly content: object;
}
