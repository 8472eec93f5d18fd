/** The page about the hooks, with the whole of `hooks/pre-receive` in it. */

import { readFileSync } from 'node:fs';

const root = new URL('../../', import.meta.url);

/** From the fence that opens the hook to the one that closes it. */
const fenced = /^```sh pre-receive\n[\s\S]*?^```$/m;

export function hooksPage(): string {
  const page = readFileSync(new URL('docs/hooks.md', root), 'utf8');
  const hook = readFileSync(new URL('hooks/pre-receive', root), 'utf8');
  return page.replace(fenced, () => `\`\`\`sh pre-receive\n${hook}\`\`\``);
}
