/**
 * An I/O worker, seen from the one who asks: one question at a time, each answered or rejected, unless a disk
 * hangs. Then it can be seen where.
 */

import { messageOf, SoftquotaError } from '../errors.ts';
import type { Discovered } from '../layout/index.ts';
import { entryUrl } from '../package.ts';
import type {
  IoWorkerReport,
  IoWorkerRequest,
  IoWorkerStart,
  WorkerAnswers,
  WorkerQuestion,
} from './messages.ts';
import { lookedAt, newShared, stuckMs } from './shared.ts';
import { endThread, startThread } from './thread.ts';

type Asked = WorkerQuestion['ask'];

export interface AskOptions {
  readonly found?: (found: readonly Discovered[]) => void;
  readonly avoided?: readonly string[];
}

export interface WorkerClient {
  /**
   * Asks; `found` is given what a `discover` finds, as it is found. Nothing below the directories `avoided`
   * is looked at. Rejects with `internal` where the thread failed or ended.
   */
  ask<Ask extends Asked>(
    question: Extract<WorkerQuestion, { readonly ask: Ask }>,
    more?: AskOptions,
  ): Promise<WorkerAnswers[Ask]>;
  /** The place where it looks at the disk, and since how long; null while it has nothing to do. */
  at(): { readonly path: string; readonly milliseconds: number } | null;
  /** Ends the thread; false where it hangs in the system and had to be left. */
  close(withinMs: number): Promise<boolean>;
  /** Resolves once the thread has ended. */
  readonly ended: Promise<void>;
}

interface Open {
  readonly found: (found: readonly Discovered[]) => void;
  readonly resolve: (answer: WorkerAnswers[Asked]) => void;
  readonly reject: (error: SoftquotaError) => void;
}

export function openWorkerClient(code: URL = entryUrl('scan/io-worker')): WorkerClient {
  const shared = newShared();
  const start: IoWorkerStart = { shared: shared.buffer };
  const thread = startThread(code, 'io', start);
  let open: Open | null = null;
  let fault: string | null = null;
  let hasEnded = false;
  const ended = Promise.withResolvers<void>();

  const end = (why: string): void => {
    open?.reject(new SoftquotaError('internal', `the thread io: ${why}`));
    open = null;
  };
  thread.on('message', (report: IoWorkerReport) => {
    switch (report.type) {
      case 'found':
        open?.found(report.found);
        return;
      case 'answer':
        open?.resolve(report.answer);
        open = null;
        return;
      case 'failed':
        end(report.why);
    }
  });
  thread.on('error', error => {
    fault = messageOf(error);
  });
  thread.on('exit', exitCode => {
    hasEnded = true;
    end(fault ?? `ended with code ${exitCode}`);
    ended.resolve();
  });

  return {
    ask<Ask extends Asked>(
      question: Extract<WorkerQuestion, { readonly ask: Ask }>,
      { found = () => {}, avoided = [] }: AskOptions = {},
    ): Promise<WorkerAnswers[Ask]> {
      const { promise, resolve, reject } = Promise.withResolvers<WorkerAnswers[Ask]>();
      if (hasEnded) {
        reject(new SoftquotaError('internal', 'the thread io has ended'));
        return promise;
      }
      // An I/O worker answers what was asked: the answer is of the question's type.
      open = { found, resolve: resolve as Open['resolve'], reject };
      const request: IoWorkerRequest = { question, avoided };
      thread.postMessage(request);
      return promise;
    },
    at: () => {
      const milliseconds = hasEnded ? 0 : stuckMs(shared);
      return milliseconds === 0 ? null : { path: lookedAt(shared), milliseconds };
    },
    ended: ended.promise,
    close: async withinMs => hasEnded || (await endThread(thread, withinMs)),
  };
}
