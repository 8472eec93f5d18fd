/** One repository after the other. */

import { SoftquotaError } from '../../errors.ts';
import { DiskHangs } from '../../layout/index.ts';
import { systemWords } from '../../system-words.ts';
import { Folder } from './folder.ts';

/** Why nothing, or not all, was done in a repository. */
export interface RepositoryFault {
  readonly repository: string;
  readonly fault: string;
}

/** Does something in each repository; a fault of one keeps none of the others waiting. */
export async function inEach<Result extends { readonly repository: string }>(
  repositories: readonly string[],
  act: (repository: Folder, path: string) => Promise<Result>,
): Promise<readonly (Result | RepositoryFault)[]> {
  const results: (Result | RepositoryFault)[] = [];
  for (const path of repositories) {
    try {
      await using repository = await Folder.open(path);
      results.push(await act(repository, path));
    } catch (error) {
      results.push({ repository: path, fault: reasonOf(error) });
    }
  }
  return results;
}

/** The words for a fault of ours or the system's; anything else is a mistake of ours and is thrown on. */
export function reasonOf(error: unknown): string {
  if (error instanceof SoftquotaError) return error.message;
  if (error instanceof DiskHangs) return 'the disk does not answer';
  const words = systemWords(error);
  if (words === null) throw error;
  return words;
}
