/**
 * Remembers recent pushes: their questions, their refs over the limit, and names that are not written yet.
 */

import type { AllowedPush, PushAnswer } from '../services.ts';

export interface AskedPush {
  /**
   * Equal as long as the quarantine, its bytes, the fields and the lines are. An inode alone is not enough:
   * file systems give it to the next quarantine.
   */
  readonly identity: string;
  /** Rejects if nothing could be decided. */
  readonly answer: Promise<PushAnswer>;
  /** Set while the push counts because of this answer. */
  allowed: AllowedPush | null;
  /** Aborted if the push is asked about anew, and nobody needs this answer any more. */
  readonly over: AbortController;
}

interface Remembered {
  readonly asked: AskedPush;
  readonly unit: string;
  readonly linesBytes: number;
  readonly at: number;
}

/** Longer than the 90 seconds for which a hook repeats its question. */
const rememberedMs = 120_000;
const mostInUnit = 100;
const mostInAll = 10_000;
const mostLinesBytes = 32 * 1024 * 1024;

/**
 * Questions of the last minutes. A repeated question gets the same answer, also after a broken connection.
 */
export class AskedPushes {
  /** The oldest first. */
  readonly #all = new Map<string, Remembered>();
  readonly #units = new Map<string, Set<string>>();
  #linesBytes = 0;

  /** Returns the last question about this push; null if there is none. */
  find(unit: string, push: string): AskedPush | null {
    const found = this.#all.get(keyOf(unit, push));
    return found === undefined || performance.now() - found.at > rememberedMs ? null : found.asked;
  }

  remember(unit: string, push: string, asked: AskedPush, linesBytes: number): void {
    const key = keyOf(unit, push);
    this.#forget(key);
    const ofUnit = this.#units.get(unit) ?? new Set<string>();
    const [oldest] = ofUnit;
    if (ofUnit.size >= mostInUnit && oldest !== undefined) this.#forget(oldest);
    const now = performance.now();
    this.#all.set(key, { asked, unit, linesBytes, at: now });
    this.#units.set(unit, ofUnit.add(key));
    this.#linesBytes += linesBytes;
    for (const [first, { at }] of this.#all) {
      const isTooMuch = this.#all.size > mostInAll || this.#linesBytes > mostLinesBytes;
      if (first === key || (!isTooMuch && now - at <= rememberedMs)) break;
      this.#forget(first);
    }
  }

  /** Forgets a question that could not be decided, so that the next one starts anew. */
  forget(unit: string, push: string, asked: AskedPush): void {
    const key = keyOf(unit, push);
    if (this.#all.get(key)?.asked === asked) this.#forget(key);
  }

  #forget(key: string): void {
    const known = this.#all.get(key);
    if (known === undefined) return;
    this.#all.delete(key);
    this.#linesBytes -= known.linesBytes;
    const ofUnit = this.#units.get(known.unit);
    ofUnit?.delete(key);
    if (ofUnit?.size === 0) this.#units.delete(known.unit);
  }
}

function keyOf(unit: string, push: string): string {
  return `${unit}\0${push}`;
}

/**
 * An entry takes some hundred bytes. Above the limit, the owner who has been in the list longest is dropped.
 */
const mostRepositories = 50_000;
const mostNames = 1000;
const mostBytes = 1_000_000;

interface Written {
  readonly names: number;
  readonly bytes: number;
}

const nothing: Written = { names: 0, bytes: 0 };

/**
 * Limits the refs that pushes without objects write over the limit, because each ref is a file and needs
 * directories. Counting starts from 0 when the owner gets over the limit, and when the daemon starts.
 */
export class RefAllowance {
  /** By `refsOwner`, which names owner and leaf, and then by unit. */
  readonly #owners = new Map<string, Map<string, Written>>();
  #repositories = 0;

  /** Counts the refs of a push. Returns false, and counts nothing, if they are too many. */
  take(owner: string, unit: string, { names, bytes }: Written): boolean {
    const units = this.#owners.get(owner) ?? new Map<string, Written>();
    const before = units.get(unit) ?? nothing;
    const whole = { names: before.names + names, bytes: before.bytes + bytes };
    if (whole.names > mostNames || whole.bytes > mostBytes) return false;
    if (!units.has(unit)) this.#repositories++;
    units.set(unit, whole);
    this.#owners.set(owner, units);
    if (this.#repositories > mostRepositories) this.#forgetFirst(owner);
    return true;
  }

  /** Forgets an owner who is below the limit again. */
  reset(owner: string): void {
    this.#repositories -= this.#owners.get(owner)?.size ?? 0;
    this.#owners.delete(owner);
  }

  #forgetFirst(except: string): void {
    for (const owner of this.#owners.keys()) {
      if (owner === except) continue;
      this.reset(owner);
      return;
    }
    this.reset(except);
  }
}

interface UnitNames {
  /** Time at which each name expires. */
  readonly until: Map<string, number>;
  characters: number;
}

/** Longer than the hooks of a push take. */
const namesRememberedMs = 10 * 60_000;
/** Limit in characters for one unit; an honest push does not have more. */
const mostCharactersInUnit = 250_000;
/** Limit in characters for all units; above it, units without a push for the longest time go. */
const mostCharacters = 16_000_000;

/**
 * Names from pushes of the last minutes that could make a folder a repository. They are not in the repository
 * until git writes them, so simultaneous pushes would not see each other's names.
 */
export class FoldersUnderWay {
  readonly #units = new Map<string, UnitNames>();
  #characters = 0;

  names(unit: string): readonly string[] {
    this.#dropEnded(unit);
    return [...(this.#units.get(unit)?.until.keys() ?? [])];
  }

  /** Returns false, and adds nothing, if the names are too many. */
  add(unit: string, names: readonly string[]): boolean {
    if (names.length === 0) return true;
    this.#dropEnded(unit);
    const known = this.#units.get(unit) ?? { until: new Map<string, number>(), characters: 0 };
    const added = names.filter(name => !known.until.has(name)).reduce((sum, { length }) => sum + length, 0);
    if (known.characters + added > mostCharactersInUnit) return false;
    const until = performance.now() + namesRememberedMs;
    for (const name of names) {
      known.until.delete(name);
      known.until.set(name, until);
    }
    known.characters += added;
    this.#characters += added;
    this.#units.delete(unit);
    this.#units.set(unit, known);
    for (const other of this.#units.keys()) {
      if (this.#characters <= mostCharacters) break;
      this.#forget(other);
    }
    return true;
  }

  #dropEnded(unit: string): void {
    const known = this.#units.get(unit);
    if (known === undefined) return;
    const now = performance.now();
    for (const [name, until] of known.until) {
      if (until > now) break;
      known.until.delete(name);
      known.characters -= name.length;
      this.#characters -= name.length;
    }
    if (known.until.size === 0) this.#units.delete(unit);
  }

  #forget(unit: string): void {
    this.#characters -= this.#units.get(unit)?.characters ?? 0;
    this.#units.delete(unit);
  }
}
