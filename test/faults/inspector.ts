/** A look into the heap of a daemon that runs, over Node's inspector. */

import type { Daemon } from '../e2e/daemon.ts';

/** Environment that starts a daemon so that it can be looked into. */
export const inspected = { NODE_OPTIONS: '--inspect=127.0.0.1:0' } as const;

/** For the snapshot of a heap on a busy machine, too. */
const mostWaitMs = 120_000;

/** Bytes and objects by constructor. */
export type Census = ReadonlyMap<string, { readonly count: number; readonly bytes: number }>;

export class Inspector {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, PromiseWithResolvers<Readonly<Record<string, unknown>>>>();
  #chunks: string[] = [];
  #lastId = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => this.#take(JSON.parse(String(data))));
  }

  static async of(daemon: Daemon): Promise<Inspector> {
    const address = daemon.written
      .map(line => /^Debugger listening on (ws:\S+)$/.exec(line)?.[1])
      .find(url => url !== undefined);
    if (address === undefined) throw new Error(`the daemon was not started to be inspected:\n${daemon.log}`);
    const socket = new WebSocket(address);
    await new Promise((resolve, reject) => {
      socket.addEventListener('open', resolve, { once: true });
      socket.addEventListener('error', reject, { once: true });
    });
    return new Inspector(socket);
  }

  /** Bytes in the heap of the main thread after all garbage was collected. */
  async liveBytes(): Promise<number> {
    await this.#ask('HeapProfiler.collectGarbage');
    const { usedSize } = await this.#ask('Runtime.getHeapUsage');
    return Number(usedSize);
  }

  /** Objects in the heap, by constructor. */
  async census(): Promise<Census> {
    await this.#ask('HeapProfiler.enable');
    this.#chunks = [];
    await this.#ask('HeapProfiler.takeHeapSnapshot', { reportProgress: false });
    const census = censusOf(JSON.parse(this.#chunks.join('')));
    this.#chunks = [];
    await this.#ask('HeapProfiler.disable');
    return census;
  }

  close(): void {
    this.#socket.close();
  }

  #ask(method: string, params: object = {}): Promise<Readonly<Record<string, unknown>>> {
    const id = ++this.#lastId;
    const answer = Promise.withResolvers<Readonly<Record<string, unknown>>>();
    this.#waiting.set(id, answer);
    this.#socket.send(JSON.stringify({ id, method, params }));
    const isLate = () => answer.reject(new Error(`the daemon does not answer ${method}`));
    const timer = setTimeout(isLate, mostWaitMs);
    return answer.promise.finally(() => clearTimeout(timer));
  }

  #take(message: {
    readonly id?: number;
    readonly method?: string;
    readonly params?: { readonly chunk?: string };
    readonly result?: Readonly<Record<string, unknown>>;
    readonly error?: { readonly message: string };
  }): void {
    if (message.method === 'HeapProfiler.addHeapSnapshotChunk')
      this.#chunks.push(message.params?.chunk ?? '');
    const waiting = this.#waiting.get(message.id ?? -1);
    if (waiting === undefined) return;
    this.#waiting.delete(message.id ?? -1);
    if (message.error === undefined) waiting.resolve(message.result ?? {});
    else waiting.reject(new Error(message.error.message));
  }
}

/** Snapshot as V8 writes it: rows of numbers, of which the fields' names say what they are. */
interface Snapshot {
  readonly snapshot: {
    readonly meta: { readonly node_fields: string[]; readonly node_types: [string[], ...unknown[]] };
  };
  readonly nodes: readonly number[];
  readonly strings: readonly string[];
}

function censusOf({ snapshot, nodes, strings }: Snapshot): Census {
  const { node_fields: fields, node_types: types } = snapshot.meta;
  const at = (field: string) => fields.indexOf(field);
  const [type, name, size] = [at('type'), at('name'), at('self_size')];
  const found = new Map<string, { count: number; bytes: number }>();
  for (let row = 0; row < nodes.length; row += fields.length) {
    const kind = types[0][nodes[row + type] ?? 0] ?? '';
    // The name of a string is its text.
    const isNamed = kind === 'object' || kind === 'closure' || kind === 'array';
    const key = isNamed ? `${kind} ${strings[nodes[row + name] ?? 0]}` : kind;
    const sum = found.get(key) ?? { count: 0, bytes: 0 };
    found.set(key, { count: sum.count + 1, bytes: sum.bytes + (nodes[row + size] ?? 0) });
  }
  return found;
}

/** Constructors that grew most from one census to another, a line each. */
export function growth(before: Census, after: Census, most = 25): readonly string[] {
  return [...after]
    .map(([key, { count, bytes }]) => {
      const was = before.get(key) ?? { count: 0, bytes: 0 };
      return { key, count: count - was.count, bytes: bytes - was.bytes };
    })
    .sort((a, b) => b.bytes - a.bytes)
    .slice(0, most)
    .map(({ key, count, bytes }) => `${bytes} bytes more in ${count} more: ${key.slice(0, 100)}`);
}
