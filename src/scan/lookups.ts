/**
 * Looks at one place on the disk, such as for the unit of a path, within a deadline.
 *
 * A file server that hangs takes the I/O worker that asks it with it, but no answer: whoever asked is told so
 * in time, the I/O worker is left behind, and the next question goes to another one. Where two of them wait
 * for one file system, no other looks at it, and after a while nobody; as long as `mostClients` hang, nothing
 * is looked up, and every question is told so at once.
 */

import { SoftquotaError } from '../errors.ts';
import { printable } from '../text/index.ts';
import { type Hangs, mostImpatient } from './hangs.ts';
import type { IoWorkers } from './io-workers.ts';
import type { LookQuestion, WorkerAnswers } from './messages.ts';
import type { WorkerClient } from './worker-client.ts';

interface LookupsOptions {
  readonly hangs: Hangs;
  readonly ioWorkers: Pick<IoWorkers, 'take'>;
  readonly mostClients?: number;
}

interface Lookups {
  /** Asks about a path. Rejects with `not_ready` where there is no answer after `deadlineMs`. */
  ask<Ask extends LookQuestion['ask']>(
    question: Extract<LookQuestion, { readonly ask: Ask }>,
    path: string,
    deadlineMs: number,
  ): Promise<WorkerAnswers[Ask]>;
  /** Number of I/O workers that hang. */
  hanging(): number;
  /** Rejects what waits; from now on nothing is asked. */
  close(): void;
}

interface Place {
  readonly client: WorkerClient;
  state: 'idle' | 'asked' | 'slow' | 'hanging';
  /** The last request. */
  path: string;
}

interface Waiting {
  readonly path: string;
  /** Puts the question to an I/O worker; resolves when that is free again, rejects where it is not. */
  readonly put: (client: WorkerClient, avoided: readonly string[]) => Promise<void>;
  readonly fail: (error: unknown) => void;
  readonly deadline: NodeJS.Timeout;
  /** The I/O worker that it was put to. */
  place: Place | null;
}

/** An I/O worker that has not answered after this time does not keep others waiting. */
const slowMs = 50;

export function openLookups({ hangs, ioWorkers, mostClients = 4 }: LookupsOptions): Lookups {
  const places = new Set<Place>();
  const queue = new Set<Waiting>();
  let isClosed = false;

  /** Puts questions to I/O workers, as long as there are both. */
  function advance(): void {
    for (const waiting of queue) {
      if (isAvoided(waiting)) continue;
      if (isCrowded(waiting.path)) continue;
      const place = freePlace();
      if (place === null) return;
      queue.delete(waiting);
      put(waiting, place);
    }
  }

  /** Tells whether a path lies where nobody is to look, and if so, answers that. */
  function isAvoided(waiting: Waiting): boolean {
    const { path, fail, deadline } = waiting;
    if (!hangs.avoidedInHaste().includes(hangs.placeOf(path))) return false;
    queue.delete(waiting);
    clearTimeout(deadline);
    fail(new SoftquotaError('not_ready', `${printable(path)} cannot be read: ETIMEDOUT`));
    return true;
  }

  /**
   * Tells whether enough I/O workers wait for the file system of a path: the others are for what lies
   * elsewhere.
   */
  function isCrowded(path: string): boolean {
    const where = hangs.placeOf(path);
    const waiting = [...places].filter(
      ({ client, state, path: asked }) =>
        state !== 'idle' && hangs.placeOf(client.at()?.path || asked) === where,
    );
    return waiting.length >= mostImpatient;
  }

  function freePlace(): Place | null {
    const all = [...places];
    const idle = all.find(({ state }) => state === 'idle');
    if (idle !== undefined) return idle;
    if (isClosed || all.length >= mostClients || all.some(({ state }) => state === 'asked')) return null;
    return newPlace();
  }

  function newPlace(): Place {
    const place: Place = { client: ioWorkers.take(), state: 'idle', path: '' };
    places.add(place);
    return place;
  }

  function put(waiting: Waiting, place: Place): void {
    waiting.place = place;
    place.state = 'asked';
    place.path = waiting.path;
    const slow = setTimeout(() => {
      if (place.state === 'asked') place.state = 'slow';
      advance();
    }, slowMs);
    waiting
      .put(place.client, hangs.avoidedInHaste())
      .catch(() => leave(place))
      .finally(() => {
        clearTimeout(slow);
        clearTimeout(waiting.deadline);
        if (place.state === 'hanging') return advance();
        place.state = 'idle';
        advance();
        if (place.state === 'idle') giveBack(place);
      });
  }

  function giveBack(place: Place): void {
    places.delete(place);
    void place.client.close(0);
  }

  /** An I/O worker that hangs counts until its thread has ended after all. */
  function leave(place: Place): void {
    place.state = 'hanging';
    hangs.leave(place.client);
    place.client.ended.then(() => {
      places.delete(place);
      advance();
    });
  }

  function hanging(): number {
    return [...places].filter(({ state }) => state === 'hanging').length;
  }

  return {
    hanging,
    ask: (question, path, deadlineMs) => {
      const { promise, resolve, reject: fail } = Promise.withResolvers<WorkerAnswers[typeof question.ask]>();
      if (isClosed || hanging() >= mostClients) {
        fail(
          new SoftquotaError(
            'not_ready',
            `${printable(path)} could not be looked up: the disk does not answer`,
          ),
        );
        return promise;
      }
      const deadline = setTimeout(() => {
        queue.delete(waiting);
        fail(
          new SoftquotaError(
            'not_ready',
            `${printable(path)} could not be looked up within ${deadlineMs} ms`,
          ),
        );
        if (waiting.place !== null) leave(waiting.place);
        advance();
      }, deadlineMs);
      const put: Waiting['put'] = async (client, avoided) => {
        const answer = client.ask(question, { avoided });
        answer.then(resolve, fail);
        await answer;
      };
      const waiting: Waiting = { path, put, fail, deadline, place: null };
      queue.add(waiting);
      advance();
      return promise;
    },
    close: () => {
      isClosed = true;
      for (const { deadline, fail } of queue) {
        clearTimeout(deadline);
        fail(new SoftquotaError('not_ready', 'looking up has ended'));
      }
      queue.clear();
    },
  };
}
