/**
 * Slows those who try wrong credentials.
 *
 * Past so many wrong ones from one network, nothing from there is looked at until the time is over, so that a guess
 * is not even answered; only a token that let somebody in from there before goes on doing so. What is
 * remembered is bounded, however many addresses an attacker has.
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
const mostRemembered = 10_000;

export class Attempts {
  readonly #limiter: RateLimiterMemory;
  readonly #mostWrong: number;
  readonly #salt = randomBytes(16).toString('hex');
  /** Slots with the tokens that were right from there, those used last at the end. */
  readonly #right = new Set<string>();

  constructor({ wrongTries, perSeconds }: AttemptLimits) {
    this.#mostWrong = wrongTries;
    this.#limiter = new RateLimiterMemory({ points: wrongTries, duration: perSeconds });
  }

  /** Seconds until credentials from this address are looked at again; null: they are. */
  async slowedSeconds(address: string, tokenKey: string | null): Promise<number | null> {
    const slot = this.#slotOf(address);
    if (tokenKey !== null && this.#right.has(slot + tokenKey)) return null;
    const known = await this.#limiter.get(slot);
    return known !== null && known.consumedPoints >= this.#mostWrong ? secondsOf(known) : null;
  }

  /** Seconds from now where it was one too many; null: not yet. */
  async wrong(address: string): Promise<number | null> {
    try {
      await this.#limiter.consume(this.#slotOf(address));
      return null;
    } catch (result) {
      if (result instanceof RateLimiterRes) return secondsOf(result);
      throw result;
    }
  }

  right(address: string, tokenKey: string): void {
    const pair = this.#slotOf(address) + tokenKey;
    this.#right.delete(pair);
    this.#right.add(pair);
    if (this.#right.size <= mostRemembered) return;
    for (const oldest of this.#right) {
      this.#right.delete(oldest);
      break;
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

/** Of IPv6, the 64 bits that one subscriber has. */
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
