/**
 * A daemon's wall clock, set while it runs.
 *
 * libfaketime stands between the daemon and the wall clock, and only that: the monotonic clock goes on, as it
 * does when an administrator or NTP sets the time.
 */

import { globSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export class WallClock {
  /** The environment for the daemon. */
  readonly env: Readonly<Record<string, string>>;
  readonly #file: string;

  private constructor(file: string, library: string) {
    this.#file = file;
    this.env = {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      NO_FAKE_STAT: '1',
      TZ: 'UTC',
    };
  }

  /** It shows the right time at first; `folder` is where it may write. */
  static async open(folder: string): Promise<WallClock> {
    const [library] = globSync('/usr/lib/*/faketime/libfaketimeMT.so.1');
    if (library === undefined) throw new Error('the package faketime is not installed');
    const clock = new WallClock(join(folder, 'clock'), library);
    await clock.setBy('+0');
    return clock;
  }

  /** Sets it to a moment, in milliseconds since 1970 or as ISO 8601, or to less than a second behind it. */
  async set(to: number | string): Promise<void> {
    const seconds = Math.ceil((new Date(to).getTime() - Date.now()) / 1000);
    await this.setBy(seconds < 0 ? String(seconds) : `+${seconds}`);
  }

  /** Sets it by as much as libfaketime understands, such as `+3d`. */
  async setBy(words: string): Promise<void> {
    await writeFile(this.#file, `${words}\n`);
  }
}
