/** Pushes where nobody looks at quarantines: what they bring counts with the walks that follow. */

import type { PushServices } from '../gate/index.ts';
import type { Measuring } from '../measuring/index.ts';

export function unwatchedPushes(measuring: Pick<Measuring, 'letThrough' | 'measureSoon'>): PushServices {
  return {
    look: async () => ({ is: 'unreadable' }),
    begin: ({ unit }) => measuring.letThrough(unit.path),
    withdraw: () => {},
    arrived: unit => measuring.measureSoon(unit),
    measure: unit => measuring.measureSoon(unit),
    sameDirectory: async () => null,
    existingNames: async () => [],
  };
}
