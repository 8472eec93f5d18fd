/**
 * The names of hosts as the shared store keeps them, in memory and by a clock of the test's own: what `claim`
 * promises.
 */

import type { ClaimOutcome, HostClaim } from '../../src/store/index.ts';

interface Held {
  readonly token: string;
  readonly life: string;
  readonly number: number;
  readonly at: number;
}

const aliveMs = 10_000;
const renewalMs = 3000;

/** All that a server has of names; another one may begin with a copy. */
export class NamesServer {
  readonly #held = new Map<string, Held>();
  readonly #hosts = new Set<string>();
  /** Time since which names are kept here. */
  #began: number | null = null;

  /** Another server with all that this one has now. */
  copy(): NamesServer {
    const other = new NamesServer();
    for (const [host, held] of this.#held) other.#held.set(host, held);
    for (const host of this.#hosts) other.#hosts.add(host);
    return other;
  }

  flush(): void {
    this.#held.clear();
    this.#hosts.clear();
    this.#began = null;
  }

  claim(
    { host, token, life, isHeld = false }: HostClaim,
    number: number,
    now: number,
    told = '',
  ): ClaimOutcome {
    const found = this.#held.get(host);
    const current = found !== undefined && now - found.at < aliveMs ? found : undefined;
    let outcome: ClaimOutcome = 'kept';
    if (current !== undefined && current.life !== life) {
      if (number < current.number) {
        if (told !== current.life)
          return this.claim({ host, token, life, version: '' }, number, now, current.life);
        outcome = 'regained';
      } else if (current.token !== token) return 'taken';
      else if (now - current.at < renewalMs) return 'former_life';
    }
    this.#began ??= now;
    if (current === undefined && !isHeld && now - this.#began < renewalMs) {
      return this.#hosts.has(host) ? 'former_life' : 'young_store';
    }
    this.#held.set(host, { token, life, number, at: now });
    this.#hosts.add(host);
    return outcome;
  }

  release({ host, token, life }: HostClaim): void {
    const held = this.#held.get(host);
    if (held?.token === token && held.life === life) this.#held.delete(host);
  }
}
