/**
 * The policy of a shared store in memory, as far as one server has it: what is promised of it, in the
 * shortest words.
 */

import { SoftquotaError } from '../../src/errors.ts';
import type {
  DocumentNames,
  DocumentRecord,
  OwnerRecord,
  PolicyChange,
  PolicySince,
  Position,
  SharedPolicy,
  SharedStore,
  VolatileChange,
} from '../../src/store/index.ts';

let servers = 0;

const same = (a: Position | null, b: Position | null) =>
  a?.generation === b?.generation && a?.version === b?.version && a?.mark === b?.mark;

export class MemoryServer {
  readonly id = `server-${++servers}`;
  /** Those that follow; what a change needs of them is asked of the store. */
  replicas = 2;
  position: Position | null = null;
  #volatile: Map<string, DocumentRecord> | null = null;
  #written = 0;
  #supersedes: readonly string[] = [];
  readonly #documents = new Map<string, SharedPolicy['documents'][number]>();
  readonly #owners = new Map<string, OwnerRecord>();
  #versions: readonly Position[] = [];

  /** Another server with all that this one has now. */
  copy(): MemoryServer {
    const other = new MemoryServer();
    other.position = this.position;
    other.#volatile = this.#volatile === null ? null : new Map(this.#volatile);
    other.#supersedes = this.#supersedes;
    for (const [key, one] of this.#documents) other.#documents.set(key, one);
    for (const [key, one] of this.#owners) other.#owners.set(key, one);
    other.#versions = this.#versions;
    other.#written = this.#written;
    return other;
  }

  flush(): void {
    this.position = null;
    this.#volatile = null;
    this.#supersedes = [];
    this.#documents.clear();
    this.#owners.clear();
    this.#versions = [];
  }

  get state() {
    const { position, id: server } = this;
    const volatile = this.#volatile === null ? null : `epoch ${this.#written}`;
    return { position, supersedes: this.#supersedes, server, usage: new Map(), volatile };
  }

  get policy(): SharedPolicy {
    return { documents: [...this.#documents.values()], owners: [...this.#owners.values()] };
  }

  commit(change: PolicyChange, basis: Position, mark: string): Position | null {
    const next = { ...basis, version: basis.version + 1, mark };
    return this.change(change, basis, [next]) === 'kept' ? next : null;
  }

  writeVolatile({ documents = [], goneDocuments = [] }: VolatileChange): void {
    this.#volatile ??= new Map();
    for (const { kind, key } of goneDocuments) this.#volatile.delete(`${kind}/${key}`);
    for (const one of documents) this.#volatile.set(`${one.kind}/${one.key}`, one);
    this.#written += 1;
  }

  volatile(names: readonly DocumentNames[] | null): readonly DocumentRecord[] {
    if (names === null) return [...(this.#volatile?.values() ?? [])];
    return names.flatMap(({ kind, key }) => this.#volatile?.get(`${kind}/${key}`) ?? []);
  }

  change(change: PolicyChange, basis: Position, positions: readonly Position[]): 'kept' | 'conflict' {
    if (!same(this.position, basis)) return 'conflict';
    const { owners = [], goneOwners = [], documents = [], goneDocuments = [] } = change;
    for (const key of goneOwners) this.#owners.delete(key);
    for (const { kind, key } of goneDocuments) this.#documents.delete(`${kind}/${key}`);
    for (const owner of owners) this.#owners.set(owner.key, owner);
    for (const one of documents) this.#documents.set(`${one.kind}/${one.key}`, one);
    this.#versions = [...this.#versions, ...positions];
    this.position = positions.at(-1) ?? null;
    return 'kept';
  }

  replace(policy: SharedPolicy, positions: readonly Position[], supersedes: readonly string[]): void {
    const volatile = this.#volatile;
    this.flush();
    for (const owner of policy.owners) this.#owners.set(owner.key, owner);
    for (const one of policy.documents) this.#documents.set(`${one.kind}/${one.key}`, one);
    this.#volatile = volatile;
    this.#supersedes = supersedes;
    this.position = positions.at(-1) ?? null;
    this.#versions = positions;
  }

  since(version: number): PolicySince {
    const there = this.#versions.find(each => each.version === version);
    const versions = this.#versions.filter(each => each.version > version);
    return { position: this.position, markThere: there?.mark ?? null, versions, change: null };
  }
}

/** A store on the server that is named at each moment. */
export function storeOn(server: () => MemoryServer, waitReplicas: number): SharedStore {
  const enough = () => {
    if (server().replicas < waitReplicas) throw new SoftquotaError('store_away', 'too few replicas');
  };
  return {
    events: async () => [],
    levels: async () => [],
    write: async () => {},
    state: async () => server().state,
    policy: async () => ({ state: server().state, policy: server().policy }),
    commit: async (change, basis, mark, meant = null) => {
      enough();
      return meant !== null && meant !== server().id ? null : server().commit(change, basis, mark);
    },
    writeVolatile: async change => server().writeVolatile(change),
    volatile: async names => server().volatile(names),
    restore: async (change, basis, positions) => {
      enough();
      return server().change(change, basis, positions);
    },
    replace: async (policy, basis, positions, supersedes) => {
      enough();
      if (!same(server().position, basis)) return 'conflict';
      server().replace(policy, positions, supersedes);
      return 'kept';
    },
    policySince: async ({ version }) => server().since(version),
    volatileNamesAfter: async () => null,
    tellUsage: async () => 'kept',
    usage: async function* () {},
    usageAfter: async () => ({ number: 0, shares: [], isMore: false }),
    largestUnits: async () => new Map(),
    allLargest: async function* () {},
    follow: () => () => {},
    claim: async () => 'kept',
    release: async () => {},
    takeTask: async () => true,
    leaveTask: async () => {},
    say: async () => {},
    listen: () => () => {},
    hosts: async () => [],
    forgetHost: async () => {},
    advice: async () => [],
    close: async () => {},
  };
}
