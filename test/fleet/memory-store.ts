/**
 * The policy of a shared store in memory, as far as one server has it: what is promised of it, in the
 * shortest words.
 */

import { SoftquotaError } from '../../src/errors.ts';
import type {
  Change,
  DocumentNames,
  DocumentRecord,
  OwnerRecord,
  PolicyChange,
  Position,
  SharedPolicy,
  SharedStore,
  VolatileChange,
} from '../../src/store/index.ts';

type Untold =
  | Omit<Change & { readonly is: 'policy' }, 'number'>
  | Omit<Change & { readonly is: 'volatile' }, 'number'>;

let servers = 0;
let numbers = 0;

const same = (a: Position | null, b: Position | null) =>
  a?.generation === b?.generation && a?.version === b?.version && a?.mark === b?.mark;

export class MemoryServer {
  readonly id = `server-${++servers}`;
  /** Those that follow; what a change needs of them is asked of the store. */
  replicas = 2;
  position: Position | null = null;
  #volatile: Map<string, DocumentRecord> | null = null;
  #supersedes: readonly string[] = [];
  readonly #documents = new Map<string, SharedPolicy['documents'][number]>();
  readonly #owners = new Map<string, OwnerRecord>();
  readonly #log: { readonly after: number; readonly change: Change }[] = [];

  /** Another server with all that this one has now. */
  copy(): MemoryServer {
    const other = new MemoryServer();
    other.position = this.position;
    other.#volatile = this.#volatile === null ? null : new Map(this.#volatile);
    other.#supersedes = this.#supersedes;
    for (const [key, one] of this.#documents) other.#documents.set(key, one);
    for (const [key, one] of this.#owners) other.#owners.set(key, one);
    other.#log.push(...this.#log);
    return other;
  }

  flush(): void {
    this.position = null;
    this.#volatile = null;
    this.#supersedes = [];
    this.#documents.clear();
    this.#owners.clear();
    this.#log.splice(0);
  }

  get #last(): number {
    return this.#log.at(-1)?.change.number ?? 0;
  }

  get state() {
    const { position, id: server } = this;
    return { position, supersedes: this.#supersedes, lastChange: this.#last, server };
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
    const names = [...goneDocuments, ...documents].map(({ kind, key }) => ({ kind, key }));
    this.#tell({ is: 'volatile', names });
  }

  volatile(names: readonly DocumentNames[] | null): readonly DocumentRecord[] | null {
    if (names === null) return this.#volatile === null ? null : [...this.#volatile.values()];
    return names.flatMap(({ kind, key }) => this.#volatile?.get(`${kind}/${key}`) ?? []);
  }

  change(change: PolicyChange, basis: Position, positions: readonly Position[]): 'kept' | 'conflict' {
    if (!same(this.position, basis)) return 'conflict';
    const { owners = [], goneOwners = [], documents = [], goneDocuments = [] } = change;
    for (const key of goneOwners) this.#owners.delete(key);
    for (const { kind, key } of goneDocuments) this.#documents.delete(`${kind}/${key}`);
    for (const owner of owners) this.#owners.set(owner.key, owner);
    for (const one of documents) this.#documents.set(`${one.kind}/${one.key}`, one);
    for (const [at, position] of positions.entries()) {
      const isLast = at === positions.length - 1;
      this.#tell({ is: 'policy', position, change: isLast ? change : null });
      this.position = position;
    }
    return 'kept';
  }

  replace(policy: SharedPolicy, next: Position, supersedes: readonly string[]): void {
    this.flush();
    for (const owner of policy.owners) this.#owners.set(owner.key, owner);
    for (const one of policy.documents) this.#documents.set(`${one.kind}/${one.key}`, one);
    this.#supersedes = supersedes;
    this.position = next;
    this.#tell({ is: 'policy', position: next, change: null });
  }

  after(number: number, limit: number): readonly Change[] | null {
    const found = this.#log.filter(({ change }) => change.number > number).slice(0, limit);
    if (found.length === 0) return this.#last === number ? [] : null;
    return found[0]?.after === number ? found.map(({ change }) => change) : null;
  }

  markOf({ generation, version }: Pick<Position, 'generation' | 'version'>): string | null {
    for (const { change } of this.#log.toReversed()) {
      if (change.is !== 'policy' || change.position.generation !== generation) continue;
      if (change.position.version === version) return change.position.mark;
    }
    return null;
  }

  #tell(change: Untold): void {
    this.#log.push({ after: this.#last, change: { ...change, number: ++numbers } });
  }
}

/** A store on the server that is named at each moment. */
export function storeOn(server: () => MemoryServer, waitReplicas: number): SharedStore {
  const enough = () => {
    if (server().replicas < waitReplicas) throw new SoftquotaError('store_away', 'too few replicas');
  };
  return {
    load: async () => ({ ...server().policy, shares: [] }),
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
    replace: async (policy, basis, next, supersedes) => {
      enough();
      if (!same(server().position, basis)) return 'conflict';
      server().replace(policy, next, supersedes);
      return 'kept';
    },
    enroll: async () => [],
    changesAfter: async (number, limit) => server().after(number, limit),
    markOf: async version => server().markOf(version),
    sharesOf: async () => [],
    sharePages: async function* () {
      yield { ownerKeys: [], shares: [], isLast: true };
    },
    follow: () => () => {},
    claim: async () => 'kept',
    release: async () => {},
    takeTask: async () => true,
    leaveTask: async () => {},
    walkers: async () => new Map(),
    takeWalk: async (_, host) => host,
    leaveWalk: async () => {},
    say: async () => {},
    listen: () => () => {},
    hosts: async () => [],
    forgetHost: async () => {},
    advice: async () => [],
    close: async () => {},
  };
}
