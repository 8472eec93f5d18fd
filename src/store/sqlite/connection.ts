/** A store's thread, seen from the outside: questions become promises. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { entryUrl } from '../../package.ts';
import { PackedUnits, type UnitColumns } from '../packed-units.ts';
import type {
  DocumentRecord,
  EventQuery,
  EventRecord,
  LevelRecord,
  OwnerRecord,
  ShareRecord,
} from '../record-store.ts';
import type {
  Changes,
  DeltaRecord,
  Loader,
  ReplicatedPosition,
  RootRecord,
  StoredRecords,
  SweepRecord,
  VersionRecord,
} from '../store.ts';
import { away } from './faults.ts';
import type { HistoryAnswer, HistoryAnswers, HistoryQuestion } from './history.ts';
import {
  type Answer,
  type Chunk,
  errorOf,
  opening,
  type Question,
  type Request,
  type ThreadSettings,
} from './messages.ts';
import { ownersFrom } from './owner-rows.ts';
import { writeInParts } from './parts.ts';
import type { RefusedFile } from './set-files.ts';
import { unitsAtOnce } from './unit-rows.ts';
import type { SetAnswer, SetAnswers, SetQuestion } from './unit-sets.ts';

interface Waiting {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
  readonly chunk?: (chunk: Chunk) => void;
}

const nothingMore = Promise.resolve(null);

export class Connection {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  readonly #ended: Promise<void>;
  readonly #unsent: Iterable<Request>[] = [];
  /** Files with sets of sources that could not be taken over. */
  refusedFiles: readonly RefusedFile[] = [];
  #isSending = false;
  #lastId = opening;

  private constructor(worker: Worker, file: string, lost: (reason: Error) => void) {
    this.#worker = worker;
    let cause: unknown;
    worker.on('error', error => {
      cause = error;
    });
    worker.on('message', (answer: Answer) => this.#take(answer));
    this.#ended = new Promise(resolve => {
      worker.on('exit', () => {
        const reason = away(file, 'its thread has ended; the next write starts another', cause);
        // First of all, so that nobody asks a thread that is no more.
        lost(reason);
        for (const { reject } of this.#waiting.values()) reject(reason);
        this.#waiting.clear();
        resolve();
      });
    });
  }

  /**
   * Rejects with `store_refused` where the file cannot be used. `lost` is called when the thread
   * has ended, for whatever reason; nothing may be asked from then on.
   */
  static async open(settings: ThreadSettings, lost: (reason: Error) => void): Promise<Connection> {
    const worker = new Worker(entryUrl('store/sqlite/worker'), { workerData: settings, name: 'store' });
    const connection = new Connection(worker, settings.file, lost);
    await connection.#answered(opening, ({ refusedFiles = [] }) => {
      connection.refusedFiles = refusedFiles;
    });
    return connection;
  }

  write(changes: Changes): Promise<void> {
    const id = ++this.#lastId;
    this.#send(writeInParts(id, changes));
    return this.#answered(id);
  }

  async load(loader?: Loader): Promise<StoredRecords> {
    const deltas: DeltaRecord[] = [];
    const owners: OwnerRecord[] = [];
    const documents: DocumentRecord[] = [];
    const roots: RootRecord[] = [];
    const shares: ShareRecord[] = [];
    let sweep: SweepRecord | null = null;
    let replicated: ReplicatedPosition | null = null;
    const versions: VersionRecord[] = [];
    await this.#ask({ id: ++this.#lastId, ask: 'load' }, chunk => {
      deltas.push(...(chunk.deltas ?? []));
      if (chunk.counts !== undefined) loader?.expect(chunk.counts.owners, chunk.counts.units);
      if (chunk.owners !== undefined) {
        const some = [...ownersFrom(chunk.owners)];
        if (loader === undefined) owners.push(...some);
        else loader.takeOwners(some);
      }
      documents.push(...(chunk.documents ?? []));
      roots.push(...(chunk.roots ?? []));
      shares.push(...(chunk.shares ?? []));
      sweep = chunk.sweep ?? sweep;
      replicated = chunk.replicated ?? replicated;
      versions.push(...(chunk.versions ?? []));
    });
    return {
      deltas,
      owners,
      documents,
      shares,
      roots,
      sweep,
      replicated: withLineage(replicated, versions),
    };
  }

  async units(take: (units: PackedUnits) => void): Promise<void> {
    let spare: ArrayBuffer | null = null;
    let next: Promise<UnitColumns | null> = this.#unitsAfter(null, null);
    for (let units = await next; units !== null; units = await next) {
      const { ids, ends } = units;
      // The thread reads the next ones while these are taken.
      next = ends.length < unitsAtOnce ? nothingMore : this.#unitsAfter(ids.slice(ends.at(-2)), spare);
      take(new PackedUnits(units));
      spare = ids.buffer;
    }
  }

  async #unitsAfter(after: Uint8Array | null, spare: ArrayBuffer | null): Promise<UnitColumns | null> {
    let found: UnitColumns | null = null;
    await this.#ask({ id: ++this.#lastId, ask: 'units', after, spare }, ({ units = null }) => {
      found = units;
    });
    return found;
  }

  async events(query: EventQuery): Promise<readonly EventRecord[]> {
    const found: EventRecord[] = [];
    await this.#ask({ id: ++this.#lastId, ask: 'events', query }, ({ events = [] }) => {
      found.push(...events);
    });
    return found;
  }

  async levels(): Promise<readonly LevelRecord[]> {
    const found: LevelRecord[] = [];
    await this.#ask({ id: ++this.#lastId, ask: 'levels' }, ({ levels = [] }) => {
      found.push(...levels);
    });
    return found;
  }

  async history<Question extends HistoryQuestion>(
    question: Question,
  ): Promise<HistoryAnswers[Question['is']]> {
    let answer: HistoryAnswer = null;
    await this.#ask({ id: ++this.#lastId, ask: 'history', question }, ({ history = null }) => {
      answer = history;
    });
    // The thread answers what was asked.
    return answer as HistoryAnswers[Question['is']];
  }

  async sets<Question extends SetQuestion>(question: Question): Promise<SetAnswers[Question['is']]> {
    let answer: SetAnswer = null;
    await this.#ask({ id: ++this.#lastId, ask: 'sets', question }, ({ sets = null }) => {
      answer = sets;
    });
    // The thread answers what was asked.
    return answer as SetAnswers[Question['is']];
  }

  /** Ends the thread after it has done what was asked before. */
  async close(): Promise<void> {
    this.#send([{ ask: 'close' }]);
    await this.#ended;
  }

  async #ask(request: Question, chunk?: (chunk: Chunk) => void): Promise<void> {
    this.#send([request]);
    await this.#answered(request.id, chunk);
  }

  /** Sends what is asked, in its order. */
  #send(requests: Iterable<Request>): void {
    this.#unsent.push(requests);
    if (!this.#isSending) void this.#sendAll();
  }

  /** Posting copies what is posted, so other things get their turn between the parts of a large write. */
  async #sendAll(): Promise<void> {
    this.#isSending = true;
    for (let next = this.#unsent.shift(); next !== undefined; next = this.#unsent.shift()) {
      for (const request of next) {
        this.#worker.postMessage(request, givenWith(request));
        if (request.ask === 'write' && !request.isLast) await nextTurn();
      }
    }
    this.#isSending = false;
  }

  #answered(id: number, chunk?: (chunk: Chunk) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, chunk ? { resolve, reject, chunk } : { resolve, reject });
    });
  }

  #take(answer: Answer): void {
    const waiting = this.#waiting.get(answer.id);
    if (answer.is === 'chunk') {
      waiting?.chunk?.(answer.chunk);
      return;
    }
    this.#waiting.delete(answer.id);
    if (answer.is === 'done') waiting?.resolve();
    else waiting?.reject(errorOf(answer.fault));
  }
}

/** The buffers that go to the thread, and are not copied. */
function givenWith(request: Request): readonly ArrayBuffer[] {
  return request.ask === 'units' && request.spare !== null ? [request.spare] : [];
}

function withLineage(
  replicated: ReplicatedPosition | null,
  versions: readonly VersionRecord[],
): ReplicatedPosition | null {
  const [first] = versions;
  return replicated === null || first === undefined
    ? replicated
    : { ...replicated, lineage: { since: first.version, versions } };
}
