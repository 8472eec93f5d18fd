/** Logs walks that take long but make progress: once when one is noticed, and once when it has ended. */

import { longWalks, type Observed } from '../health/index.ts';
import type { Log } from '../log.ts';

interface LongWalksOptions {
  readonly status: () => Pick<Observed, 'hangs' | 'walking'>;
  readonly log: Pick<Log, 'info' | 'warn'>;
  readonly everyMs?: number;
}

const usualEveryMs = 5000;

/** Begins to watch; returns a function that stops it. */
export function tellLongWalks({ status, log, everyMs = usualEveryMs }: LongWalksOptions): () => void {
  let told: ReadonlySet<string> = new Set();
  const look = () => {
    const now = status();
    const long = longWalks(now);
    for (const { path, milliseconds } of long) {
      if (told.has(path)) continue;
      log.warn(
        { path, seconds: Math.round(milliseconds / 1000) },
        'the walk of a unit has taken more than half a minute, and makes progress',
      );
    }
    for (const path of told) {
      const isWalked = now.walking.some(walk => walk.path === path);
      if (!isWalked) log.info({ path }, 'a long walk has ended');
    }
    told = new Set(long.map(({ path }) => path));
  };
  const timer = setInterval(look, everyMs).unref();
  return () => clearInterval(timer);
}
