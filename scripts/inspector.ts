/** V8's inspector of a running Node: which functions ran on each of its threads. */

/** By thread and file of `src/`, the names of the functions that ran. */
export type Ran = ReadonlyMap<string, ReadonlyMap<string, ReadonlySet<string>>>;

interface Coverage {
  readonly result?: readonly {
    readonly url: string;
    readonly functions: readonly {
      readonly functionName: string;
      readonly ranges: readonly { readonly count: number }[];
    }[];
  }[];
}

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly result?: Coverage;
  readonly params?: {
    readonly sessionId: string;
    readonly message: string;
    readonly workerInfo: { readonly title: string };
  };
}

type Send = (method: string, params?: object) => Promise<Coverage>;

export class Inspector {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<string, (result: Coverage) => void>();
  readonly #threads = new Map<string, { readonly name: string; readonly send: Send }>();
  #lastId = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => this.#hear('', String(data)));
  }

  static async open(address: string): Promise<Inspector> {
    const socket = new WebSocket(address);
    const opened = Promise.withResolvers<void>();
    socket.addEventListener('open', () => opened.resolve());
    socket.addEventListener('error', () => opened.reject(new Error(`${address} cannot be inspected`)));
    await opened.promise;
    const inspector = new Inspector(socket);
    await inspector.#follow('', 'main');
    await inspector.#send('', 'NodeWorker.enable', { waitForDebuggerOnStart: true });
    return inspector;
  }

  /** The functions that ran since this was called last. */
  async take(): Promise<Ran> {
    const ran = new Map<string, ReadonlyMap<string, ReadonlySet<string>>>();
    for (const { name, send } of this.#threads.values()) {
      const { result = [] } = await send('Profiler.takePreciseCoverage');
      const files = result.flatMap(({ url, functions }) => {
        const [, file] = /\/src\/(.+)\.ts$/.exec(url) ?? [];
        const names = functions.filter(each => each.functionName !== '' && each.ranges[0]?.count !== 0);
        return file === undefined || names.length === 0
          ? []
          : [[file, new Set(names.map(each => each.functionName))] as const];
      });
      ran.set(name, new Map(files));
    }
    return ran;
  }

  close(): void {
    this.#socket.close();
  }

  async #follow(session: string, name: string): Promise<void> {
    this.#threads.set(session, { name, send: (method, params) => this.#send(session, method, params) });
    await this.#send(session, 'Profiler.enable');
    await this.#send(session, 'Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    if (session !== '') await this.#send(session, 'Runtime.runIfWaitingForDebugger');
  }

  #send(session: string, method: string, params: object = {}): Promise<Coverage> {
    this.#lastId += 1;
    const id = this.#lastId;
    const { promise, resolve } = Promise.withResolvers<Coverage>();
    this.#waiting.set(`${session} ${id}`, resolve);
    const message = JSON.stringify({ id, method, params });
    if (session === '') this.#socket.send(message);
    else void this.#send('', 'NodeWorker.sendMessageToWorker', { sessionId: session, message });
    return promise;
  }

  #hear(session: string, text: string): void {
    const { id, method, result = {}, params }: Message = JSON.parse(text);
    if (id !== undefined) this.#waiting.get(`${session} ${id}`)?.(result);
    if (params === undefined) return;
    if (method === 'NodeWorker.receivedMessageFromWorker') this.#hear(params.sessionId, params.message);
    if (method === 'NodeWorker.attachedToWorker') {
      void this.#follow(params.sessionId, params.workerInfo.title.replace(/^\[worker \d+\] /, ''));
    }
    if (method === 'NodeWorker.detachedFromWorker') this.#threads.delete(params.sessionId);
  }
}
