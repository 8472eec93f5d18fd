/**
 * Keeps units that a sweep has found and not begun to walk yet. They are a list, which takes a fraction of the
 * memory of walks that have begun and wait for a walker. Each device has walks of its own, so that a slow device
 * keeps no other waiting.
 */

interface BacklogOptions<Item> {
  /** Begun at a time on each device. */
  readonly most: number;
  readonly deviceOf: (item: Item) => string;
  /** Does all that is to be done with one, and then calls `ended`, once. */
  readonly run: (item: Item, ended: () => void) => void;
}

interface Device<Item> {
  begun: number;
  readonly waiting: Item[];
}

export class Backlog<Item> {
  readonly #options: BacklogOptions<Item>;
  readonly #devices = new Map<string, Device<Item>>();
  #open = 0;
  #over: (() => void) | null = null;

  constructor(options: BacklogOptions<Item>) {
    this.#options = options;
  }

  add(item: Item): void {
    const name = this.#options.deviceOf(item);
    const device = this.#devices.get(name) ?? { begun: 0, waiting: [] };
    this.#devices.set(name, device);
    this.#open += 1;
    if (device.begun < this.#options.most) this.#begin(device, item);
    else device.waiting.push(item);
  }

  /** Forgets what is not begun. */
  clear(): void {
    for (const { waiting } of this.#devices.values()) this.#open -= waiting.splice(0).length;
    this.#tell();
  }

  /** Resolves when nothing is left. */
  empty(): Promise<void> {
    return new Promise(resolve => {
      this.#over = resolve;
      this.#tell();
    });
  }

  #begin(device: Device<Item>, item: Item): void {
    device.begun += 1;
    this.#options.run(item, () => {
      device.begun -= 1;
      this.#open -= 1;
      const next = device.waiting.pop();
      if (next !== undefined) this.#begin(device, next);
      this.#tell();
    });
  }

  #tell(): void {
    if (this.#open === 0) this.#over?.();
  }
}
