/**
 * Pages that print files of the package, so that what readers type is what the tests load: a comment
 * `<!-- file: share/… -->` names the file, and the block below it is its text.
 */

import { readFileSync } from 'node:fs';

const root = new URL('../../', import.meta.url);

/** A page with each such block as its file has it. */
export function withPrintedFiles(page: string): string {
  return readFileSync(new URL(page, root), 'utf8').replaceAll(
    /^(<!-- file: (\S+) -->\n```.*\n)[\s\S]*?^```$/gm,
    (_, opening: string, file: string) => `${opening}${readFileSync(new URL(file, root), 'utf8')}\`\`\``,
  );
}
