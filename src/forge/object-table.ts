/**
 * Owners of objects, packed: an object is known by the first 128 bits of its SHA-256.
 *
 * Most objects have one owner, who stands beside the object. Only pairs of an object and a further owner are
 * in a set of their own. So a million objects take some thirty megabytes.
 */

const wordsPerObject = 4;
const firstObjects = 1024;
const noObject = -1;

export class ObjectTable {
  #words = new Uint32Array(firstObjects * wordsPerObject);
  #owners = new Float64Array(firstObjects);
  #slots = new Int32Array(firstObjects * 2).fill(noObject);
  #size = 0;
  readonly #furtherOwners = new Map<number, number[]>();

  get size(): number {
    return this.#size;
  }

  /**
   * Takes an object of an owner, by 32 hexadecimal digits. `new`: nobody had it; `shared`: only others had
   * it; `known`: this owner has it already.
   */
  add(digits: string, owner: number): 'new' | 'shared' | 'known' {
    const key = [0, 8, 16, 24].map(at => Number.parseInt(digits.slice(at, at + 8), 16) >>> 0);
    let slot = this.#slotOf(key);
    const object = this.#slots[slot] ?? noObject;
    if (object === noObject) {
      if ((this.#size + 1) * 2 > this.#slots.length) {
        this.#grow();
        slot = this.#slotOf(key);
      }
      this.#slots[slot] = this.#size;
      this.#words.set(key, this.#size * wordsPerObject);
      this.#owners[this.#size] = owner;
      this.#size++;
      return 'new';
    }
    if (this.#owners[object] === owner) return 'known';
    const others = this.#furtherOwners.get(object) ?? [];
    if (others.includes(owner)) return 'known';
    others.push(owner);
    this.#furtherOwners.set(object, others);
    return 'shared';
  }

  #slotOf(key: readonly number[]): number {
    const mask = this.#slots.length - 1;
    for (let slot = (key[0] ?? 0) & mask; ; slot = (slot + 1) & mask) {
      const object = this.#slots[slot] ?? noObject;
      if (object === noObject || this.#isAt(object, key)) return slot;
    }
  }

  #isAt(object: number, key: readonly number[]): boolean {
    const at = object * wordsPerObject;
    return key.every((word, index) => this.#words[at + index] === word);
  }

  #grow(): void {
    const words = new Uint32Array(this.#words.length * 2);
    words.set(this.#words);
    this.#words = words;
    const owners = new Float64Array(this.#owners.length * 2);
    owners.set(this.#owners);
    this.#owners = owners;
    this.#slots = new Int32Array(this.#slots.length * 2).fill(noObject);
    const mask = this.#slots.length - 1;
    for (let object = 0; object < this.#size; object++) {
      let slot = (this.#words[object * wordsPerObject] ?? 0) & mask;
      while (this.#slots[slot] !== noObject) slot = (slot + 1) & mask;
      this.#slots[slot] = object;
    }
  }
}
