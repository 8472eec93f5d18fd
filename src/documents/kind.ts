/** Kinds of documents: what a document of a kind looks like, and what the audit log may say of it. */

import type { z } from 'zod';

/** The store knows it by its name. */
export interface Kind<T> {
  readonly name: string;
  readonly schema: z.ZodType<T>;
  /**
   * Says what the audit log shows of a document, so nothing secret. Where that stays the same there was no change to
   * speak of. Of a kind without it the log says only that a document was changed.
   */
  describe?(key: string, document: T, nameOf: (ownerId: number) => string): Description;
  /** Nobody laid it down, and it is not to come back: it is in no backup. */
  readonly isPassing?: true;
}

/** What may be known of a document. */
export interface Description {
  /** What people call it. */
  readonly name: string | null;
  /** Whose it is, where it is one owner's. */
  readonly ownerId: number | null;
  /** As JSON, an object. */
  readonly content: object;
}
