/** Kinds of documents: what a document of a kind looks like, and what the audit log may say of it. */

import type { z } from 'zod';

/**
 * The promise that is made of a document.
 *
 * `versioned`: a change is made upon the last one, on as many replicas as are asked for. `volatile`: what is
 * made again by use, such as sessions. It has no version, of two writers the last one wins, and it is in no
 * backup.
 */
export type Durability = 'versioned' | 'volatile';

/** The store knows it by its name. */
export interface Kind<T> {
  readonly name: string;
  readonly durability: Durability;
  readonly schema: z.ZodType<T>;
  /**
   * Says what the audit log shows of a document, so nothing secret. Where that stays the same there was no
   * change to speak of. Of a kind without it the log says only that a document was changed, and nothing of a
   * volatile one.
   */
  describe?(key: string, document: T, nameOf: (ownerId: number) => string): Description;
  /** The owner by whom documents are found, by id. */
  ownerOf?(document: T): number;
}

export interface Description {
  readonly name: string | null;
  /** The owner whose it is; null where it is nobody's. */
  readonly ownerId: number | null;
  /** An object as JSON has it, with the names and forms of the API. */
  readonly content: object;
}
