/**
 * Pages that show files of the package: behind `<!-- file: share/proxies/… -->` the next block is that file as
 * it is, so that what a reader types is what the tests load.
 */

import { readFileSync } from 'node:fs';

const root = new URL('../../', import.meta.url);

/** The page with the files as they are now; all else stays. */
export function withFiles(page: string): () => string {
  return () =>
    readFileSync(new URL(page, root), 'utf8').replace(
      /^(<!-- file: (\S+) -->\n```.*\n)[\s\S]*?^```$/gm,
      (_, opening: string, file: string) => `${opening}${readFileSync(new URL(file, root), 'utf8')}\`\`\``,
    );
}
