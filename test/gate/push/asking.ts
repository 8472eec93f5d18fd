/** Pushes as hooks ask about them, in a world whose repository lies at `app`. */

import { createHash } from 'node:crypto';
import type { QuarantineLook } from '../../../src/gate/push/services.ts';
import type { Timing } from '../../../src/gate/push/timing.ts';
import type { Answer, World } from '../world.ts';

export const app = '/srv/git/alice/app.git';
export const zero = '0'.repeat(40);
export const one = '1'.repeat(40);
export const two = '2'.repeat(40);

export function created(...names: readonly string[]): string {
  return names.map(name => `${zero} ${one} ${name}\n`).join('');
}

/** Name of a quarantine, as git's mktemp makes it. */
export function quarantineName(text: string): string {
  return `tmp_objdir-incoming-${createHash('sha1').update(text).digest('hex').slice(0, 6)}`;
}

export function pushBody(
  fields: Readonly<Record<string, string>>,
  lines: string | Buffer = created('refs/heads/main'),
): Buffer {
  const all = { hook: 'pre-receive', script: `${app}/hooks/pre-receive`, directory: app, ...fields };
  const text = Object.entries(all).map(([name, value]) => `${name}=${value}\0`);
  return Buffer.concat([Buffer.from(`${text.join('')}\0`), Buffer.from(lines)]);
}

/** Asks as a hook whose quarantine has this name. */
export function push(
  world: Pick<World, 'ask'>,
  name: string,
  lines?: string | Buffer,
  fields: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const GIT_QUARANTINE_PATH = `${app}/objects/${quarantineName(name)}`;
  return send(world, pushBody({ GIT_QUARANTINE_PATH, ...fields }, lines));
}

export function send(world: Pick<World, 'ask'>, body: Buffer): Promise<Answer> {
  return world.ask('/v1/push', { method: 'POST', body });
}

export function seen(name: string, bytes: number, hasObjects = bytes > 0): QuarantineLook {
  const sample = hasObjects ? 'pack/pack-1.pack' : null;
  return { is: 'seen', quarantine: { name, id: `of ${name}`, bytes, hasObjects, sample } };
}

/** A clock that stands still until it is moved, and then calls back. */
export class SetTiming implements Timing {
  #now = 0;
  readonly #alarms = new Set<{ readonly at: number; readonly callback: () => void }>();

  now(): number {
    return this.#now;
  }

  after(milliseconds: number, callback: () => void): () => void {
    const alarm = { at: this.#now + milliseconds, callback };
    this.#alarms.add(alarm);
    return () => this.#alarms.delete(alarm);
  }

  pass(milliseconds: number): void {
    this.#now += milliseconds;
    for (const alarm of [...this.#alarms]) {
      if (alarm.at > this.#now) continue;
      this.#alarms.delete(alarm);
      alarm.callback();
    }
  }
}
