/** Estimates how many bytes a push brings. */

import type { Quarantine } from '../../layout/index.ts';
import type { RefChanges } from './lines.ts';
import type { Arriving } from './servers.ts';
import type { QuarantineLook } from './services.ts';

export interface Growth {
  /** It brings objects, or more than a few refs, or nobody can tell. */
  readonly grows: boolean;
  /** 0 where it cannot be told. */
  readonly bytes: number;
  /** Null: nobody could read it, or git made none. */
  readonly quarantine: Quarantine | null;
  /** Name of the quarantine, by which the push's end is noticed; null: nothing can be watched. */
  readonly name: string | null;
}

/** Each ref is a file, and each level of its name a directory, which counts no bytes but takes space. */
const fewRefs = 100;
const fewCharacters = 1000;

/** `look` is null where there is no quarantine to look at. */
export function pushGrowth(changes: RefChanges, arriving: Arriving, look: QuarantineLook | null): Growth {
  const quarantine = look?.is === 'seen' ? look.quarantine : null;
  const hasManyRefs =
    changes.created > fewRefs || changes.isNested || changes.createdCharacters > fewCharacters;
  const bringsObjects = quarantine === null ? arriving.in !== 'nothing' : quarantine.hasObjects;
  const refBytes = (changes.created + changes.updated) * (changes.hashLength + 1);
  return {
    grows: bringsObjects || hasManyRefs,
    bytes: quarantine === null ? 0 : quarantine.bytes + refBytes,
    quarantine,
    name: arriving.in === 'quarantine' && look?.is !== 'absent' ? arriving.name : null,
  };
}
