/** A name that a stranger may have chosen: as text, apart from what it stands in, with nothing in it that misleads. */

import { printable } from '../../../src/quota/index.ts';

export function Name({ children }: { readonly children: string }) {
  return <bdi>{printable(children)}</bdi>;
}
