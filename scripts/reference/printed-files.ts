/**
 * Pages whose configurations are files of the package, so that tests and readers can use the very same text: a
 * comment `<!-- share/… -->` names the file, and the block below it is its text.
 */

import { readFileSync } from 'node:fs';

const root = new URL('../../', import.meta.url);

/** A page with each such block as its file has it. */
export function withPrintedFiles(page: string): string {
  return readFileSync(new URL(page, root), 'utf8').replaceAll(
    /^(<!-- (share\/\S+) -->\n```\w+\n)[\s\S]*?^```$/gm,
    (_, opening: string, file: string) => `${opening}${readFileSync(new URL(file, root), 'utf8')}\`\`\``,
  );
}
