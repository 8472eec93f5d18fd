/**
 * Slows clients that try invalid credentials.
 *
 * After a number of invalid ones from one network, the answer to each further one has a time to wait. Valid
 * credentials are never slowed, even from the same address: a check costs only a hash, and nobody can guess
 * 160 bits by many attempts. Memory is bounded, however many addresses an attacker has.
 */

import { hash, randomBytes } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';

export interface AttemptLimits {
  readonly wrongTries: number;
  readonly perSeconds: number;
}

/**
 * Networks share slots by these digits of a salted hash, and are slowed together with the others in a slot.
 */
const slotDigits = 4;

/**
 * Returns a function that counts an invalid attempt of an address. It returns the seconds to wait; null:
 * none.
 */
export function wrongAttempts(limits: AttemptLimits): (address: string) => Promise<number | null> {
  const limiter = new RateLimiterMemory({ points: limits.wrongTries, duration: limits.perSeconds });
  const salt = randomBytes(16).toString('hex');
  return async address => {
    try {
      await limiter.consume(hash('sha256', salt + networkOf(address)).slice(0, slotDigits));
      return null;
    } catch (result) {
      if (!(result instanceof RateLimiterRes)) throw result;
      // Rounded up to at least one second, so that no client tries again at once.
      return result.msBeforeNext > 0 ? Math.ceil(result.msBeforeNext / 1000) : null;
    }
  };
}

/** Returns the first 64 bits of an IPv6 address, the network of one subscriber; other addresses unchanged. */
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
