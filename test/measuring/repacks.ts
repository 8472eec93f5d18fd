/**
 * git at work in a repository beside pushes and walks, and what is known of its size at each moment: what was
 * there before, with what pushes brought.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { quietSpanMs } from '../../src/scan/counting.ts';
import { type Numbers, oneOf } from '../numbers.ts';
import type { PushWorld } from './push-world.ts';

/** Programs of git, by name; those of one are run one after the other. */
export const repacks: Readonly<Record<string, readonly (readonly string[])[]>> = {
  gc: [['gc', '-q']],
  'gc --prune=now': [['gc', '-q', '--prune=now']],
  'gc without cruft packs': [['-c', 'gc.cruftPacks=false', 'gc', '-q', '--prune=2.weeks.ago']],
  'repack -ad': [['repack', '-q', '-a', '-d']],
  'repack -Ad': [['repack', '-q', '-A', '-d']],
  'repack --geometric': [['repack', '-q', '-d', '--geometric=2']],
  'repack with a multi-pack-index': [['repack', '-q', '-d', '--geometric=2', '--write-midx', '-b']],
  'repack --cruft': [['repack', '-q', '--cruft', '-d']],
  'repack into several packs': [['repack', '-q', '-a', '-d', '--max-pack-size=1m']],
  maintenance: [['maintenance', 'run', '--quiet']],
  'maintenance in steps': [
    [
      ...['-c', 'maintenance.incremental-repack.auto=0', 'maintenance', 'run', '--quiet'],
      ...['--task=loose-objects', '--task=incremental-repack', '--task=pack-refs'],
    ],
  ],
  'prune-packed': [
    ['repack', '-q'],
    ['prune-packed', '-q'],
  ],
  'multi-pack-index': [
    ['multi-pack-index', 'write'],
    ['multi-pack-index', 'repack', '--batch-size=0'],
    ['multi-pack-index', 'expire'],
  ],
};

/** `stop`: stopped for a while at a random moment; `kill`: killed then. */
export type RepackMode = 'plain' | 'stop' | 'kill';

export interface WorkOptions {
  readonly mode: RepackMode;
  readonly stoppedMs: number;
  readonly random: Numbers;
  /** It is stopped for longer than after the last change a repository is believed to be quiet. */
  readonly stopsLong?: () => void;
}

const pause = (milliseconds: number) => new Promise(resolve => setTimeout(resolve, milliseconds));

/** Runs it, and comes back when all of its processes have ended. */
export async function work(
  repository: string,
  programs: readonly (readonly string[])[],
  { mode, stoppedMs, random, stopsLong = () => {} }: WorkOptions,
): Promise<void> {
  const env = { PATH: process.env.PATH, HOME: '/nonexistent', GIT_CONFIG_NOSYSTEM: '1' };
  for (const program of programs) {
    const child = spawn('git', ['-C', repository, ...program], { env, stdio: 'ignore', detached: true });
    const exited = once(child, 'exit');
    const signal = (name: NodeJS.Signals): void => {
      try {
        process.kill(-(child.pid ?? 0), name);
      } catch {
        // It has ended.
      }
    };
    if (mode !== 'plain') {
      await pause(random(oneOf([50, 200, 400], random)));
      signal(mode === 'kill' ? 'SIGKILL' : 'SIGSTOP');
      if (mode === 'stop') {
        if (stoppedMs > quietSpanMs) stopsLong();
        await pause(stoppedMs);
      }
      signal('SIGCONT');
    }
    await exited;
  }
}

/** Removes the locks and unfinished files that a killed git leaves, as it would be an hour later. */
export function cleanUp(repository: string): void {
  for (const name of readdirSync(repository, { recursive: true, encoding: 'utf8' })) {
    const isUnfinished = /(^|\/)objects\/pack\/(tmp_|\.tmp-)/.test(name);
    if (isUnfinished || name.endsWith('.lock') || name === 'gc.pid')
      rmSync(join(repository, name), { force: true });
  }
}

/** A figure of the ledger beside what it must not be above, and not below. */
interface Sample {
  readonly bytes: number;
  readonly most: number;
  readonly least: number;
}

/** Refs, logs, indexes and the like. */
const slack = 60_000;
const share = 0.02;
/** Number of these of which what is left may still count. */
const worksBack = 4;

/**
 * Follows the figures of a repository from now on, which is quiet. All that is pushed is random, and nothing is
 * deleted: so nothing that git does to its end makes it smaller or larger.
 */
export class Figures {
  readonly #world: PushWorld;
  readonly #before: number;
  readonly #samples: Sample[] = [];
  readonly #unwatch: () => void;
  #begun = 0;
  #ended = 0;
  #largest = 0;
  #last = 0;
  /** Bytes that works had left there twice, at the end of each and where it stopped for long. */
  readonly #left: number[] = [0];

  constructor(world: PushWorld) {
    this.#world = world;
    this.#before = world.onDisk;
    this.#unwatch = world.ledger.watch(() => queueMicrotask(() => this.#sample()));
    world.onCounted = bytes => {
      this.#last = bytes;
      this.#begun += bytes;
      this.#largest = Math.max(this.#largest, bytes);
    };
  }

  /** Pushes, one after the other. */
  async push(bytes: number, branch: string): Promise<void> {
    this.#last = 0;
    if (await this.#world.push(bytes, branch)) this.#ended += this.#last;
    else {
      // It counts until its end is noticed.
      await this.#world.until(() => this.#world.measuring.pushes.listed(this.#world.repository).length === 0);
      this.#begun -= this.#last;
    }
  }

  /**
   * A work has ended, or stops for long. What it has left is on the disk until it or another removes it, and
   * counts by right where it is seen; the figure follows a moment later.
   */
  worked(): void {
    this.#left.push(Math.max(0, this.#world.onDisk - this.#before - this.#begun));
  }

  /** Tells how far figures were above what they may be, and below. */
  end(): { readonly above: number; readonly below: number; readonly figures: number } {
    this.#unwatch();
    return {
      above: this.#samples.reduce((worst, { bytes, most }) => Math.max(worst, bytes - most), 0),
      below: this.#samples.reduce((worst, { bytes, least }) => Math.max(worst, least - bytes), 0),
      figures: this.#samples.length,
    };
  }

  #sample(): void {
    const left = Math.max(...this.#left.slice(-worksBack));
    const most = this.#before + this.#begun * (1 + share) + slack + left;
    const least = this.#before + this.#ended * (1 - share) - this.#largest - slack;
    this.#samples.push({ bytes: this.#world.bytes, most, least });
  }
}

/** Walks without a pause until it is called off. */
export function walking(world: PushWorld): () => Promise<void> {
  let isOver = false;
  const { scanner } = world.measuring;
  const walks = (async () => {
    while (!isOver) {
      await scanner.measureSoon(world.repository);
      await pause(20);
    }
  })();
  const sweeps = (async () => {
    while (!isOver) {
      await scanner.sweep({ kind: 'sweep' }).done;
      await pause(150);
    }
  })();
  return async () => {
    isOver = true;
    await Promise.all([walks, sweeps]);
  };
}
