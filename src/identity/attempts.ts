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

/** Gives a function that counts a wrong one of an address: seconds to wait if one too many; null: not yet. */
export function wrongAttempts(limits: AttemptLimits): (address: string) => Promise<number | null> {
  const limiter = new RateLimiterMemory({ points: limits.wrongTries, duration: limits.perSeconds });
  const salt = randomBytes(16).toString('hex');
  return async address => {
    try {
      await limiter.consume(hash('sha256', salt + networkOf(address)).slice(0, slotDigits));
      return null;
    } catch (result) {
      if (!(result instanceof RateLimiterRes)) throw result;
      // At least one, so that it is never asked again at once.
      return result.msBeforeNext > 0 ? Math.ceil(result.msBeforeNext / 1000) : null;
    }
  };
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
