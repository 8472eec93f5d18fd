/**
 * Lends I/O workers. One that has nothing to do stands ready for whoever asks next: a thread takes longer to
 * start than most questions to answer, and than some can wait. It ends when nobody has asked for a while,
 * since a thread takes some 10 MB.
 */

import { openWorkerClient, type WorkerClient } from './worker-client.ts';

/** Milliseconds that an idle one stays; the questions of a burst of pushes come closer to each other. */
const usualRestMs = 20_000;
/** A thread without a question ends at once. */
const endMs = 1000;

interface IoWorkersOptions {
  readonly code?: URL | undefined;
  /** Milliseconds that an idle one stays for the next question. */
  readonly restMs?: number;
}

export class IoWorkers {
  readonly #code: URL | undefined;
  readonly #restMs: number;
  /** All threads that have not ended. */
  readonly #threads = new Set<WorkerClient>();
  #ready: WorkerClient | null = null;
  /** Runs while one stands ready. */
  #rest: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor({ code, restMs = usualRestMs }: IoWorkersOptions = {}) {
    this.#code = code;
    this.#restMs = restMs;
  }

  /** Lends one; closing it gives it back, unless it is at a question: then its thread is ended. */
  take(): WorkerClient {
    const thread = this.#ready ?? this.#start();
    this.#leave();
    const ended = Promise.withResolvers<void>();
    let questions = 0;
    let isLent = true;
    void thread.ended.then(ended.resolve);
    return {
      ask: async (question, more) => {
        questions += 1;
        try {
          return await thread.ask(question, more);
        } finally {
          questions -= 1;
        }
      },
      at: () => thread.at(),
      ended: ended.promise,
      close: async withinMs => {
        if (!isLent) return true;
        if (questions > 0 || !this.#keep(thread)) return thread.close(withinMs);
        isLent = false;
        ended.resolve();
        return true;
      },
    };
  }

  /** Ends all threads, and gives how many had to be left. */
  async close(withinMs: number): Promise<number> {
    this.#isClosed = true;
    this.#leave();
    const ended = await Promise.all([...this.#threads].map(thread => thread.close(withinMs)));
    return ended.filter(hasEnded => !hasEnded).length;
  }

  #start(): WorkerClient {
    const thread = openWorkerClient('io', this.#code);
    this.#threads.add(thread);
    void thread.ended.then(() => {
      this.#threads.delete(thread);
      if (this.#ready === thread) this.#leave();
    });
    return thread;
  }

  /** Keeps a thread for the next one who asks; false where another one stands ready already. */
  #keep(thread: WorkerClient): boolean {
    if (this.#isClosed || this.#ready !== null || !this.#threads.has(thread)) return false;
    this.#ready = thread;
    this.#rest = setTimeout(() => {
      this.#leave();
      void thread.close(endMs);
    }, this.#restMs).unref();
    return true;
  }

  /** None stands ready any more. */
  #leave(): void {
    clearTimeout(this.#rest ?? undefined);
    this.#rest = null;
    this.#ready = null;
  }
}
