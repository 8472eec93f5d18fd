/**
 * A writer of lines that never waits: what its sink has not taken yet is kept up to a bound, and what comes
 * on top is counted instead. The count is told once there is room again, at the place where the lines are
 * missing.
 */

/** Takes some lines at once, and calls back when they are written, or with why they are not. */
export type Sink = (lines: string, written: (error?: Error | null) => void) => void;

export interface BoundedWriterOptions {
  readonly sink: Sink;
  /** For all lines that wait. */
  readonly mostBytes: number;
  /** How long it waits after a fault before the sink is tried again, in milliseconds. */
  readonly retryMs: number;
  /** Tells that so many lines were lost; what it writes goes into the same writer. */
  lost(lines: number): void;
}

interface Line {
  readonly text: string;
  readonly bytes: number;
}

/** What the sink is given at once. */
const batchBytes = 64 * 1024;

export class BoundedWriter {
  readonly #options: BoundedWriterOptions;
  #waiting: Line[] = [];
  /** Of those that wait and those that are with the sink. */
  #bytes = 0;
  #lost = 0;
  #state: 'idle' | 'writing' | 'resting' = 'idle';
  #rest: NodeJS.Timeout | undefined;
  readonly #flushing = new Set<() => void>();

  constructor(options: BoundedWriterOptions) {
    this.#options = options;
  }

  write(text: string): void {
    const bytes = Buffer.byteLength(text);
    // Once lines are lost, those behind them are too until there is room for many: so one count tells of them
    // all.
    if (this.#lost > 0 || this.#bytes + bytes > this.#options.mostBytes) this.#lost++;
    else this.#put({ text, bytes });
    this.#advance();
  }

  /** Tells whether all lines were written within this time; false also where the sink does not take them. */
  async flush(withinMs: number): Promise<boolean> {
    if (this.#state === 'resting') this.#wake();
    this.#advance();
    if (this.#isWritten) return true;
    const { promise, resolve } = Promise.withResolvers<void>();
    const overdue = setTimeout(resolve, withinMs);
    this.#flushing.add(resolve);
    await promise;
    clearTimeout(overdue);
    this.#flushing.delete(resolve);
    return this.#isWritten;
  }

  /** Tells whether the sink has lines that it did not call back for. */
  get isWriting(): boolean {
    return this.#state === 'writing';
  }

  get #isWritten(): boolean {
    return this.#state === 'idle' && this.#waiting.length === 0;
  }

  #put(line: Line): void {
    this.#waiting.push(line);
    this.#bytes += line.bytes;
  }

  #advance(): void {
    if (this.#state !== 'idle') return;
    this.#tellLost();
    if (this.#waiting.length === 0) {
      this.#flushed();
      return;
    }
    const batch = this.#taken();
    const bytes = batch.reduce((sum, line) => sum + line.bytes, 0);
    this.#state = 'writing';
    this.#options.sink(batch.map(({ text }) => text).join(''), error => {
      this.#bytes -= bytes;
      if (error === undefined || error === null) {
        this.#state = 'idle';
        this.#advance();
        return;
      }
      this.#lost += batch.length;
      this.#state = 'resting';
      this.#rest = setTimeout(() => this.#wake(), this.#options.retryMs).unref();
      // Nobody waits for a sink that takes nothing.
      this.#flushed();
    });
  }

  #wake(): void {
    clearTimeout(this.#rest);
    this.#state = 'idle';
    this.#advance();
  }

  #taken(): Line[] {
    let bytes = 0;
    const end = this.#waiting.findIndex(line => {
      bytes += line.bytes;
      return bytes > batchBytes;
    });
    // One that is longer than a batch goes by itself.
    return this.#waiting.splice(0, end === -1 ? this.#waiting.length : Math.max(end, 1));
  }

  #tellLost(): void {
    const lines = this.#lost;
    if (lines === 0 || this.#bytes > this.#options.mostBytes / 2) return;
    this.#lost = 0;
    this.#options.lost(lines);
  }

  #flushed(): void {
    for (const resolve of this.#flushing) resolve();
  }
}
