/** The owner and the leaf of a unit, if a forge's database knows them and no walk does. */

import type { Config } from '../config/index.ts';
import type { Ledger } from '../ledger/index.ts';
import type { Leaf } from '../quota/index.ts';
import type { ForgeVisibility } from './forge/visibility.ts';

interface ForgeOwnershipOptions {
  storages(): Config['storages'];
  readonly ledger: Pick<Ledger, 'units'>;
  /** Null: no forge's database is read. */
  readonly visibility: Pick<ForgeVisibility, 'leafOf' | 'ownerOf'> | null;
}

export class ForgeOwnership {
  readonly #options: ForgeOwnershipOptions;

  constructor(options: ForgeOwnershipOptions) {
    this.#options = options;
  }

  /** A walk does not know whether a repository is public, if the forge's database says so. */
  leafOf(path: string, found: Leaf): Leaf {
    const { storages, ledger, visibility } = this.#options;
    const isForges = storages().some(each => each.visibility === 'forge');
    const hasVisibility = found === 'size:repos:public' || found === 'size:repos:private';
    if (!hasVisibility || visibility === null || !isForges) return found;
    return visibility.leafOf(path) ?? ledger.units.unit(path)?.leaf ?? found;
  }

  /** Nor whose it is, if `OWNER = forge`. */
  ownerOf(path: string, leaf: Leaf, found: string | null): string | null {
    const { storages, ledger, visibility } = this.#options;
    const kind = leaf === 'size:assets:wiki' ? 'wiki' : leaf.startsWith('size:repos:') ? 'repos' : null;
    if (!storages().some(one => one.kind === kind && one.owner.by === 'forge')) return found;
    const known = visibility?.ownerOf(path);
    return known === undefined ? (ledger.units.unit(path)?.owner ?? null) : known;
  }
}
