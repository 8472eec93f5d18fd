/** A folder in the system's folder for temporary files, which goes with its test. */

import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Part that ends something when it ends: a test, or a bench. */
export interface Teardown {
  teardown(act: () => unknown): void;
}

/** Makes it empty, and gives its physical path. */
export function temporaryFolder(t: Teardown): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'sq-')));
  // Something that ends with the test may still write.
  t.teardown(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 20 }));
  return folder;
}
