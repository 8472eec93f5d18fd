/**
 * Holds usage in memory, consistent with the store, decides by usage and policy, and records measurements.
 *
 * Measurements count at once and are written behind. Reports of trusted programs are written before they
 * count, because the acknowledgement promises that they survive a restart. Sequence numbers order walks and
 * reports, never a clock.
 */

import { type Applied, DocumentReplica, Documents, EventLog, OwnerRegistry } from '../documents/index.ts';
import { assignmentKind, graceKind, Policy, policyKinds, poolGraceKind } from '../policy/index.ts';
import {
  type Decision,
  decide,
  type Explanation,
  explain,
  hasBounds,
  leafMask,
  noUsage,
  type ReservedBytes,
  type Standing,
  type Subject,
} from '../quota/index.ts';
import { type Away, type Changes, type OwnerRecord, type Store, WriteBehind } from '../store/index.ts';
import type { Account } from './account.ts';
import { affectedBy } from './affected.ts';
import { OwnerGraces } from './graces.ts';
import type {
  ActionThings,
  Clock,
  LedgerOptions,
  LedgerParts,
  LedgerSettings,
  OwnerDecision,
  OwnerUsage,
} from './options.ts';
import { Pools } from './pools.ts';
import { Reach } from './reach.ts';
import type { Watcher } from './reconcile-loop.ts';
import { Reports } from './reports.ts';
import { type OwnRepository, repositoriesOf, storedRepository } from './repositories.ts';
import { type Action, type Admission, Reservations, RoomApart } from './reservations.ts';
import { UsageShares } from './shares.ts';
import { SteadyClock } from './steady-clock.ts';
import { UnitSources } from './unit-sources.ts';
import { UsageIndex } from './usage-index.ts';
import { loadOwners, loadUnits, Walks } from './walks.ts';

const noIds: ReadonlySet<string> = new Set();

const systemClock: Clock = {
  wall: () => Date.now(),
  monotonic: () => performance.now(),
};

export class Ledger {
  /** Returns the forge's name for the repository at a path; null: the name follows from the path. */
  titleOf: (path: string) => string | null = () => null;
  /** All documents, also those of the policy. */
  readonly documents: Documents;
  /** The documents that hosts share. */
  readonly replica: DocumentReplica;
  readonly eventLog: EventLog;
  readonly walks: Walks;
  /** Records single units and deltas that trusted programs report. */
  readonly reports: Reports;
  readonly sources: UnitSources;
  /** Begins and ends the graces of owners over a limit, and ends allowances, once started. */
  readonly graces: OwnerGraces;
  readonly pools = new Pools(this);
  readonly steadyClock: SteadyClock;
  readonly shares: UsageShares;
  readonly #roomApart: RoomApart;
  readonly reach: Reach;
  readonly reservations: Reservations;
  readonly #store: Store;
  readonly #parts: LedgerParts;
  readonly #watchers = new Set<Watcher>();
  readonly #now: () => number;
  #policy: Policy;
  #settings: LedgerSettings;
  #seq = 0;

  private constructor(options: LedgerOptions) {
    const clock: Clock = options.clock ?? systemClock;
    const { host, log, store } = options;
    const owners = new OwnerRegistry(options.foldCase);
    const tell = (ownerKey: string | null) => this.#tell(ownerKey);
    const usage = new UsageIndex(owners, host, tell);
    const now = () => clock.wall();
    const nextSeq = () => ++this.#seq;
    const writeBehindTo = (to: Pick<Store, 'write'>, probe: () => Changes) =>
      new WriteBehind({ store: to, log, now, probe });
    const writeBehind = writeBehindTo(store, () => this.walks.somethingKept());
    this.#now = now;
    this.steadyClock = new SteadyClock(clock);
    this.#store = store;
    this.#settings = options.settings;
    const onApplied = (applied: Applied) => this.#onApplied(applied);
    this.eventLog = new EventLog({ store, writeBehind, writeBehindTo });
    const { eventLog } = this;
    this.documents = new Documents({ owners, writeBehind, usage, eventLog, now, onApplied });
    this.#policy = new Policy(this.documents.snapshot);
    const parts: LedgerParts = { usage, writeBehind, clock, log, host, nextSeq, tell };
    this.#parts = parts;
    this.graces = new OwnerGraces({ ...parts, ledger: this });
    this.replica = new DocumentReplica(this.documents);
    this.reports = new Reports(parts);
    this.reservations = new Reservations({ clock, onChange: tell });
    this.reach = new Reach(parts);
    const { reports, reservations } = this;
    this.walks = new Walks({ ...parts, reports, reservations });
    const accountFor = (ownerName: string) => this.walks.accountFor(ownerName);
    const { unitSources, foldCase } = options;
    this.sources = new UnitSources({ ...parts, store: unitSources, foldCase, accountFor });
    const sourceUnits: UnitSources['unitsOf'] = (...asked) => this.sources.unitsOf(...asked);
    this.shares = new UsageShares({ ...parts, sourceUnits });
    this.#roomApart = new RoomApart(() => this.shares.hostsApart);
  }

  /** Opens the ledger and loads the store; rejects with `store_refused`. */
  static async open(options: LedgerOptions): Promise<Ledger> {
    const ledger = new Ledger(options);
    try {
      await ledger.#load(options);
    } catch (error) {
      await ledger.#stop();
      throw error;
    }
    return ledger;
  }

  get settings(): LedgerSettings {
    return this.#settings;
  }

  /** Changes the settings from the next decision on. */
  set settings(settings: LedgerSettings) {
    // A member's bytes in a pool depend on no other setting.
    if (settings.garbage !== this.#settings.garbage) this.pools.changed(null);
    this.#settings = settings;
    this.#announce(null);
  }

  /** Calls the watcher at each change of usage or policy; returns a function that ends this. */
  watch(watcher: Watcher): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  get policy(): Policy {
    return this.#policy;
  }

  /** The failure of the store; null while it can be written. */
  get storeAway(): Away | null {
    return this.#parts.writeBehind.away;
  }

  get waitingWrites(): number {
    return this.#parts.writeBehind.waiting;
  }

  /** The units and accounts, without the methods that change them. */
  get units(): Omit<UsageIndex, 'close' | 'open' | 'owners' | 'put' | 'remove'> {
    return this.#parts.usage;
  }

  /** Decides whether an owner may start something that grows a subject. Throws `sum_too_large`. */
  decide(ownerName: string, subject: Subject, addingBytes = 0, things: ActionThings = {}): OwnerDecision {
    const owner = this.ownerUsage(ownerName);
    return { owner, decision: this.deciderFor(owner, things)(subject, addingBytes) };
  }

  /** Returns a function that decides for several subjects, and looks up the owner's policy only once. */
  deciderFor(
    owner: OwnerUsage,
    things: ActionThings = {},
  ): (subject: Subject, addingBytes?: number) => Decision {
    return this.#deciderBesides(owner, things, noIds);
  }

  #deciderBesides(
    owner: OwnerUsage,
    { incoming, repository: path = null }: ActionThings,
    besides: ReadonlySet<string>,
  ) {
    const asked = this.#questionOf(owner);
    const { reservations, titleOf } = this;
    const { usage } = this.#parts;
    const isAsked = path !== null && hasBounds(asked.standing, ['repository']);
    const repository = isAsked
      ? storedRepository({ usage, reservations, owner, path, titleOf, besides })
      : null;
    const question = { ...asked, incoming, repository };
    return (subject: Subject, addingBytes = 0): Decision => {
      return decide({ ...question, ...this.#apart(owner, subject, addingBytes), subject, addingBytes });
    };
  }

  /** Decides by stored bytes alone, without reservations. `hasPools`: bounds of groups count, too. */
  stateDeciderFor(owner: OwnerUsage, hasPools = true): (subject: Subject) => Decision {
    const pools = hasPools ? (group: string) => this.pools.of(group, null) : undefined;
    const question = { ...this.#questionOf({ ...owner, reserved: null }), pools };
    return subject => decide({ ...question, subject });
  }

  /** Lists all repositories of an owner on this host, with nulls as in `filterMapInSlices`. */
  repositoriesOf(owner: OwnerUsage): Iterable<OwnRepository | null> {
    return repositoriesOf(this.#parts.usage, owner, this.titleOf);
  }

  /**
   * Decides about an upload, and reserves its bytes if it may start. Both happen synchronously, so that
   * concurrent uploads cannot together pass a limit. Each host counts only its own reservations. Throws
   * `too_many_reservations`.
   */
  admit({ ownerName, subject, parts, isReported, unit, seconds, things = {} }: Action): Admission {
    const { reservations } = this;
    const ownerKey = this.documents.owners.keyOf(ownerName);
    const found = this.ownerUsage(ownerName);
    const ids = new Set(parts.map(({ id }) => id));
    const owner = { ...found, reserved: reservations.where(ownerKey, ({ id }) => !ids.has(id)) };
    const adding = parts.reduce((sum, { bytes }) => sum + bytes, 0);
    const decide = this.#deciderBesides(owner, things, ids);
    const decision = decide(subject, Math.min(adding, Number.MAX_SAFE_INTEGER));
    const { mode, enabled } = this.#settings;
    const isLetThrough = decision.allowed || mode === 'report';
    if (!isLetThrough || !(isReported || enabled)) return { owner, decision, reservations: [] };
    const common = {
      ownerKey,
      mask: leafMask(subject),
      isReported,
      unit,
      expiresAt: reservations.endIn(seconds),
    };
    const held = parts
      .filter(({ bytes }) => bytes > 0 || isReported)
      .map(part => reservations.hold({ ...part, ...common }, owner.usage));
    return { owner, decision, reservations: held };
  }

  explain(ownerName: string, subject: Subject, addingBytes = 0): Explanation {
    const owner = this.ownerUsage(ownerName);
    const apart = this.#apart(owner, subject, addingBytes);
    return explain({ ...this.#questionOf(owner), ...apart, subject, addingBytes });
  }

  /** With PRECISE, adds what hosts that are cut off may grant meanwhile to what is reserved. */
  #apart(owner: OwnerUsage, subject: Subject, addingBytes: number) {
    if (addingBytes === 0 || !this.#settings.precise) return { reserved: owner.reserved };
    const own = this.#parts.usage.account(owner.name)?.ownUsage ?? noUsage;
    const room = this.#roomApart;
    const reserved = room.reserved(owner, own, subject, addingBytes);
    const pools = (group: string) => room.ofPool(group, this.pools.of(group, owner), subject, addingBytes);
    return { reserved, pools };
  }

  /** Returns the parts of a question about an owner that do not depend on the subject. */
  #questionOf(owner: OwnerUsage) {
    const { usage, reserved, unreachable } = owner;
    const pools = (group: string) => this.pools.of(group, owner);
    const settings = this.#settings;
    return { settings, standing: this.standing(owner), usage, reserved, unreachable, pools };
  }

  /** Returns an owner's usage, with reservations; an unknown owner has 0 bytes. Throws `sum_too_large`. */
  ownerUsage(ownerName: string): OwnerUsage {
    const owner = this.documents.owners.named(ownerName);
    const account = owner && this.#parts.usage.accountByKey(owner.key);
    const ownerKey = owner?.key ?? this.documents.owners.keyOf(ownerName);
    const usage = account?.usage ?? noUsage;
    return this.#usageOf(owner, ownerName, account, this.reservations.of(ownerKey, usage));
  }

  /** Yields all owners whose bytes can be added up, unordered, without reservations. */
  *owners(): Generator<OwnerUsage> {
    for (const owner of this.#parts.usage.owners.all) {
      const found = this.#listed(owner);
      if (found !== undefined) yield found;
    }
  }

  /** Returns one of `owners` by id; undefined: there is none. */
  ownerById(id: number): OwnerUsage | undefined {
    const owner = this.#parts.usage.owners.byId(id);
    return owner && this.#listed(owner);
  }

  /** Resolves with true once all records up to now are in the store, with false if the store is away. */
  async kept(): Promise<boolean> {
    const kept = await Promise.all([this.#parts.writeBehind.kept(), this.eventLog.kept()]);
    return kept.every(isKept => isKept);
  }

  /** Writes all waiting records, and closes the store. */
  async close(): Promise<void> {
    await this.graces.close();
    await this.#stop();
    await this.eventLog.close();
    await this.#parts.writeBehind.close();
    await this.#store.close();
  }

  async #stop(): Promise<void> {
    this.reports.close();
    this.reach.close();
    this.reservations.close();
    await this.sources.close();
  }

  async #load({ kinds = [], host }: LedgerOptions): Promise<void> {
    const kept = await this.#store.load();
    const { owners } = this.#parts.usage;
    this.documents.load(
      [...policyKinds, graceKind, poolGraceKind, ...kinds],
      kept.documents,
      kept.replicated,
    );
    this.#policy = new Policy(this.documents.snapshot);
    loadOwners(this.#parts, kept.owners);
    this.walks.load(kept.roots, kept.sweep);
    const lastSeq = await loadUnits(this.#parts, this.walks, this.#store.units());
    this.#seq = Math.max(this.#seq, lastSeq, kept.deltas.at(-1)?.seq ?? 0);
    for (const share of kept.shares) {
      // This host had another name when it took the usage of one that had its name.
      if (share.host === host) {
        this.#parts.writeBehind.note({ goneShares: [share] });
        continue;
      }
      const owner = owners.byKey(share.ownerKey);
      if (owner !== undefined) this.#parts.usage.open(owner).putShare(share);
    }
    for (const record of kept.deltas) this.reports.load(this.walks.accountFor(record.owner), record);
    this.reports.settle();
    await this.sources.load();
    // Adds up large groups now, so that the first check does not.
    for (const group of this.#policy.pooled) this.pools.of(group, null);
  }

  #tell(ownerKey: string | null): void {
    const owner = ownerKey === null ? undefined : this.#parts.usage.owners.byKey(ownerKey);
    if (owner !== undefined) this.pools.changed(owner.id);
    this.#announce(ownerKey);
  }

  #announce(ownerKey: string | null): void {
    for (const watcher of this.#watchers) watcher(ownerKey);
  }

  #onApplied(applied: Applied): void {
    const { isPolicy, owners } = affectedBy(applied, this.documents.owners, this.#policy);
    if (isPolicy) {
      this.#policy = new Policy(this.documents.snapshot);
      const assigned = applied.documents.get(assignmentKind.name)?.keys() ?? [];
      this.pools.policyChanged(new Set([...assigned].map(Number)));
    }
    for (const key of applied.goneOwners) this.#parts.usage.close(key);
    for (const { id } of applied.owners) this.pools.changed(id);
    for (const ownerKey of owners) this.#announce(ownerKey);
  }

  #usageOf(
    owner: OwnerRecord | undefined,
    askedName: string,
    account: Account | undefined,
    reserved: readonly ReservedBytes[] | null,
  ): OwnerUsage {
    const { lastSweep } = this.walks;
    return {
      id: owner?.id ?? null,
      name: owner?.name ?? askedName,
      type: owner?.type ?? 'user',
      usage: account?.usage ?? noUsage,
      unreachable: this.#settings.garbage === 'forgive' ? (account?.unreachable ?? null) : null,
      measuredAt: account?.measuredAt ?? lastSweep?.finishedAt ?? null,
      partial: lastSweep === null || (account?.partial ?? false),
      reserved,
      stale:
        this.shares.isStale ||
        (owner !== undefined && this.walks.unplaced.has(owner.key)) ||
        (account !== undefined && this.sources.makesStale(account)),
      allowance: this.#policy.allowanceOf(owner?.id ?? null, this.#now),
    };
  }

  #listed(owner: OwnerRecord): OwnerUsage | undefined {
    const account = this.#parts.usage.accountByKey(owner.key);
    return account?.fits === false ? undefined : this.#usageOf(owner, owner.name, account, null);
  }

  /** Returns the groups that apply to an owner, with the owner's allowance and graces. */
  standing(owner: Pick<OwnerUsage, 'id' | 'allowance'>): Standing {
    const standing = this.#policy.standing(owner.id, this.#settings.defaultGroups);
    const graces = this.graces.of(owner.id);
    const raised = owner.allowance === null ? standing : { ...standing, allowance: owner.allowance };
    return graces === null ? raised : { ...raised, graces };
  }
}
