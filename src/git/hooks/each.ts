/** One repository after the other. */

import type { Parts } from '../../layout/index.ts';
import { Folder } from './folder.ts';
import { reasonOf } from './reason.ts';

/** Why nothing, or not all, was done in a repository. */
export interface RepositoryFault {
  readonly repository: string;
  readonly fault: string;
}

/**
 * Does something in each repository; a fault of one keeps none of the others waiting. What an earlier process
 * has done is not done again.
 */
export async function inEach<Result extends { readonly repository: string }>(
  repositories: readonly string[],
  parts: Parts<Result> | undefined,
  act: (repository: Folder, path: string) => Promise<Result>,
): Promise<readonly (Result | RepositoryFault)[]> {
  const results: (Result | RepositoryFault)[] = [];
  for (const path of repositories) {
    const earlier = parts?.done(path);
    if (earlier !== undefined) {
      results.push(earlier);
      continue;
    }
    try {
      const repository = await Folder.open(path);
      try {
        const result = await act(repository, path);
        parts?.keep(path, result);
        results.push(result);
      } finally {
        await repository.close();
      }
    } catch (error) {
      results.push({ repository: path, fault: reasonOf(error) });
    }
  }
  return results;
}
