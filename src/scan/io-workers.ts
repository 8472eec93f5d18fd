/**
 * Lends I/O workers. One that has nothing to do stands ready for whoever asks next: a thread takes longer to start
 * than most questions to answer, and than some can wait.
 */

import { openWorkerClient, type WorkerClient } from './worker-client.ts';

export class IoWorkers {
  readonly #code: URL | undefined;
  /** All threads that have not ended. */
  readonly #threads = new Set<WorkerClient>();
  #ready: WorkerClient | null = null;
  #isClosed = false;

  constructor(code?: URL) {
    this.#code = code;
  }

  /** Lends one; closing it gives it back, unless it is at a question: then its thread is ended. */
  take(): WorkerClient {
    const thread = this.#ready ?? this.#start();
    this.#ready = null;
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
    const ended = await Promise.all([...this.#threads].map(thread => thread.close(withinMs)));
    return ended.filter(hasEnded => !hasEnded).length;
  }

  #start(): WorkerClient {
    const thread = openWorkerClient('io', this.#code);
    this.#threads.add(thread);
    void thread.ended.then(() => {
      this.#threads.delete(thread);
      if (this.#ready === thread) this.#ready = null;
    });
    return thread;
  }

  /** Keeps a thread for the next one who asks; false where another one stands ready already. */
  #keep(thread: WorkerClient): boolean {
    if (this.#isClosed || this.#ready !== null || !this.#threads.has(thread)) return false;
    this.#ready = thread;
    return true;
  }
}
