/**
 * Slows those who try wrong credentials.
 *
 * Past so many wrong ones from one network, each further one is answered by when to try again. What is right
 * is not slowed, whoever else is behind the same address: to look costs a hash, and nobody guesses 160 bits
 * however often they try. What is remembered is bounded, however many addresses an attacker has.
 */

import { hash, randomBytes } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';

export interface AttemptLimits {
  readonly wrongTries: number;
  readonly perSeconds: number;
}

/** Networks that share a slot are slowed together; who does is chance, and another one after each start. */
const slotDigits = 4;

export class Attempts {
  readonly #limiter: RateLimiterMemory;
  readonly #salt = randomBytes(16).toString('hex');

  constructor({ wrongTries, perSeconds }: AttemptLimits) {
    this.#limiter = new RateLimiterMemory({ points: wrongTries, duration: perSeconds });
  }

  /** Counts a wrong one: seconds from now where it was one too many; null: not yet. */
  async wrong(address: string): Promise<number | null> {
    try {
      await this.#limiter.consume(this.#slotOf(address));
      return null;
    } catch (result) {
      if (result instanceof RateLimiterRes) return secondsOf(result);
      throw result;
    }
  }

  #slotOf(address: string): string {
    return hash('sha256', this.#salt + networkOf(address)).slice(0, slotDigits);
  }
}

/** At least one, so that it is never asked again at once. */
function secondsOf({ msBeforeNext }: RateLimiterRes): number | null {
  return msBeforeNext > 0 ? Math.ceil(msBeforeNext / 1000) : null;
}

/** Returns the 64 bits of an IPv6 address that one subscriber has. */
function networkOf(address: string): string {
  const mapped = /^::ffff:([\d.]+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!isIPv6(address)) return address;
  const [head = '', tail] = address.split('::');
  const groups = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? 0 : tail.split(':').length;
  const whole =
    tail === undefined
      ? groups
      : [...groups, ...Array<string>(Math.max(8 - groups.length - after, 0)).fill('0')];
  return whole
    .slice(0, 4)
    .map(group => Number.parseInt(group, 16))
    .join(':');
}
