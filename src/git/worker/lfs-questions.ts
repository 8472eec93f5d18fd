/** Asks the daemon which LFS objects a repository has by the forge's database. */

import type { Fields } from './connection.ts';
import type { LfsObjects } from './space/lfs.ts';

type Answer = { readonly objects: LfsObjects | null } | { readonly fault: string };

export class LfsQuestions {
  readonly #send: (message: object) => boolean;
  readonly #pending = new Map<string, (answer: Answer) => void>();
  #last = 0;

  constructor(send: (message: object) => boolean) {
    this.#send = send;
  }

  /**
   * The LFS objects of a repository by their ids, with their bytes; null: there is no forge. Rejects where the
   * daemon does not know, or the connection ends.
   */
  async ask(path: string, signal: AbortSignal): Promise<LfsObjects | null> {
    const id = String(++this.#last);
    const { promise, resolve } = Promise.withResolvers<Answer>();
    this.#pending.set(id, resolve);
    const stop = (): void => resolve({ fault: 'nobody waits for it any more' });
    signal.addEventListener('abort', stop, { once: true });
    if (!this.#send({ lfs: { id, path } })) resolve({ fault: 'the daemon is away' });
    const answer = await promise;
    signal.removeEventListener('abort', stop);
    this.#pending.delete(id);
    if ('fault' in answer) throw new Error(answer.fault);
    return answer.objects;
  }

  take(answer: Fields | null): void {
    if (answer === null || typeof answer.id !== 'string') return;
    const { objects, fault } = answer;
    this.#pending.get(answer.id)?.(
      typeof fault === 'string'
        ? { fault }
        : { objects: Array.isArray(objects) ? new Map(objects.flatMap(objectIn)) : null },
    );
  }

  ended(): void {
    for (const end of this.#pending.values()) end({ fault: 'the daemon is away' });
  }
}

function objectIn(json: unknown): readonly [oid: string, bytes: number][] {
  if (typeof json !== 'object' || json === null || !('oid' in json) || !('bytes' in json)) return [];
  const { oid, bytes } = json;
  return typeof oid === 'string' && typeof bytes === 'number' ? [[oid, bytes]] : [];
}
