/**
 * Keeps names current between two readings of the forge. An owner who was renamed meanwhile would be a
 * stranger without bytes and groups: so pushes and unknown names cause a query to the forge.
 */

import type { ForgeOwner, ForgeReader, ForgeSettings } from '../../forge/index.ts';
import type { Ledger } from '../../ledger/index.ts';
import { sparingLog } from '../../log.ts';
import { nameFault } from '../../quota/index.ts';
import type { Logger } from '../../service/index.ts';
import { SerialQueue, within } from '../../turns.ts';
import { forgeIdOf, forgeLinkKind, forgeLinkOf } from './owners.ts';

interface ForgeNamesOptions {
  readonly settings: Pick<ForgeSettings, 'kind'>;
  readonly ledger: Pick<Ledger, 'documents'>;
  readonly reader: Pick<ForgeReader, 'ownerBy'>;
  /** Tells whether the last reading failed: then no check waits for another failure. */
  isAway(): boolean;
  /** Takes over owners who are new or have changed. */
  take(owners: readonly ForgeOwner[]): Promise<void>;
  readonly log: Logger;
}

/** Most names that are queried at a time: for a push, and for checks, which need no sign-in. */
const mostAtOnce = 1000;
const mostStrangers = 10;
/** Less than a hook waits. */
const deadlineMs = 1500;
/** Longest chain of owners who took over each other's names since the last reading. */
const mostHolders = 10;

export class ForgeNames {
  readonly #options: ForgeNamesOptions;
  readonly #log: ReturnType<typeof sparingLog>;
  readonly #asked = new Map<string, Promise<void>>();
  /** Rows are read and taken over one after the other, so that an older row never replaces a newer one. */
  readonly #turns = new SerialQueue();
  /** The ids of owners who were taken over since the last reading began. */
  readonly #taken = new Set<number>();

  constructor(options: ForgeNamesOptions) {
    this.#options = options;
    this.#log = sparingLog(options.log);
  }

  /** Implements `GateServices.settleOwner`. */
  settle(name: string, isPush: boolean): Promise<void> | null {
    const { settings, isAway } = this.#options;
    // Paths of GitLab name no owner.
    if (settings.kind === 'gitlab' || isAway() || (!isPush && this.#linkOf(name) !== undefined)) return null;
    // Anybody may ask about any name; pushes come from those who have signed in.
    const isTooMuch = this.#asked.size >= (isPush ? mostAtOnce : mostStrangers);
    return isTooMuch || nameFault(name) !== null ? null : this.#settled(name);
  }

  /** Tells whether everybody may see the owner's page in the forge. */
  isPublic(name: string): boolean {
    return this.#linkOf(name)?.isHidden === false;
  }

  #linkOf(name: string): ReturnType<typeof forgeLinkOf> {
    return forgeLinkOf(this.#options.ledger.documents, name);
  }

  /** Called when a reading begins, since it includes all that was taken over before. */
  readingBegins(): void {
    this.#taken.clear();
  }

  /** Runs `act` while no name changes here. */
  inTurn<Done>(act: () => Promise<Done>): Promise<Done> {
    return this.#turns.run(act);
  }

  /** Takes over the owners of a reading. Those that were queried since it began are queried once more. */
  takeRead(owners: readonly ForgeOwner[]): Promise<void> {
    const { reader, take } = this.#options;
    return this.#turns.run(async () => {
      const now: ForgeOwner[] = [];
      for (const owner of owners) {
        now.push(this.#taken.has(owner.id) ? ((await reader.ownerBy('id', owner.id)) ?? owner) : owner);
      }
      await take(now);
    });
  }

  async #settled(name: string): Promise<void> {
    const key = name.toLowerCase();
    const asking =
      this.#asked.get(key) ?? this.#turns.run(() => this.#ask(name)).finally(() => this.#asked.delete(key));
    this.#asked.set(key, asking);
    try {
      const isLate = await within(
        asking.then(() => false),
        deadlineMs,
        true,
      );
      if (isLate) this.#log.warn({ owner: name }, 'the forge does not tell in time who has this name');
    } catch (error) {
      if (!this.#options.isAway()) this.#log.warn({ err: error }, 'the forge does not tell who has a name');
    }
  }

  async #ask(name: string): Promise<void> {
    const { reader, ledger, take } = this.#options;
    const found = await reader.ownerBy('lower_name', name.toLowerCase());
    if (found === null) return;
    const { snapshot, owners } = ledger.documents;
    const link = snapshot.get(forgeLinkKind, String(found.id));
    const known = link === undefined ? undefined : owners.byId(link.owner);
    if (link?.name === found.name && known?.name === found.name) return;
    const all = await this.#withHolders(found);
    for (const { id } of all) this.#taken.add(id);
    await take(all);
  }

  /** Puts owners first who still have the name here but no longer in the forge: they are renamed first. */
  async #withHolders(found: ForgeOwner): Promise<readonly ForgeOwner[]> {
    const { snapshot, owners } = this.#options.ledger.documents;
    const all = [found];
    let { name } = found;
    while (all.length <= mostHolders) {
      const holder = owners.named(name);
      const id = holder === undefined ? undefined : forgeIdOf(snapshot, holder.id);
      if (id === undefined || all.some(owner => owner.id === id)) break;
      const row = await this.#options.reader.ownerBy('id', id);
      if (row === null) break;
      all.unshift(row);
      ({ name } = row);
    }
    return all;
  }
}
