/** Writes changes of volatile documents alone: they have no version, and wait for nothing else. */

import type { PolicyChange } from '../store/index.ts';
import { type Deadline, unknown } from './deadline.ts';
import type { DocumentsOptions } from './options.ts';
import type { SharedDocuments } from './shared-documents.ts';

/** Writes to the shared store where there is one, else to this host's own. Rejects with `store_away`. */
export async function writeVolatile(
  { documents = [], goneDocuments = [], events = [] }: PolicyChange,
  { writeBehind, eventLog }: Pick<DocumentsOptions, 'writeBehind' | 'eventLog'>,
  shared: SharedDocuments | null,
  deadline: Deadline,
): Promise<void> {
  if (shared === null) return writeBehind.now({ documents, goneDocuments, events });
  if (documents.length + goneDocuments.length > 0) {
    await deadline.wait(shared.writeVolatile({ documents, goneDocuments }), unknown);
    writeBehind.applied({ documents, goneDocuments });
  }
  if (events.length > 0) eventLog.enqueue({ events });
}
