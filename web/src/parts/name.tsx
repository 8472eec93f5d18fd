/**
 * A name that a stranger may have chosen: as text, apart from what it stands in, with nothing in it that
 * misleads.
 */

import { printable } from '../../../src/text/index.ts';

export function Name({ children }: { readonly children: string }) {
  const shown = printable(children);
  return <bdi class={hasShortWords(shown) ? 'whole' : undefined}>{shown}</bdi>;
}

/** `administrators`: so much fits beside the other columns of a table on a phone. */
const longestWord = 14;

/** A word ends where every browser may break a line: `fifty-gigabytes` has two, `2024-11-20` is one. */
function hasShortWords(text: string): boolean {
  return text.split(/ |(?<=[A-Za-z0-9]-)(?=[A-Za-z])/).every(word => word.length <= longestWord);
}
