/**
 * Measures units whose size the file system keeps itself, in an extended attribute of their directories
 * (`[storage.*] RULER = xattr:NAME`): one call takes the place of a walk.
 *
 * The bytes of units inside a unit are taken off, by their own attributes. A unit whose attribute gives no
 * figure keeps the bytes that it was known with, and the result is marked partial and says why.
 */

import { type AttributeReading, type ReadingOptions, readAttributes } from './attributes.ts';
import type { Cache } from './cache.ts';
import { formerOwnersOf, identityOf } from './identity.ts';
import type { UnitTask } from './messages.ts';
import type { WalkOutcome, WalkRequest } from './outcome.ts';
import type { Pulse } from './visit.ts';

/** A task of a unit that is not walked. */
interface RuledTask extends UnitTask {
  readonly unit: UnitTask['unit'] & { readonly attribute: string };
}

export function isRuled(task: UnitTask): task is RuledTask {
  return task.unit.attribute !== undefined;
}

/** The attributes of a batch of units, read together when the first of them is asked for. */
export class BatchAttributes {
  readonly #tasks: readonly RuledTask[];
  readonly #options: ReadingOptions;
  readonly #readings = new Map<string, AttributeReading>();

  constructor(tasks: readonly UnitTask[], options: ReadingOptions = {}) {
    this.#tasks = tasks.filter(isRuled);
    this.#options = options;
  }

  /** The reading of a unit of the batch, and those of the places inside it that belong to others. */
  of(task: RuledTask): readonly AttributeReading[] {
    const { attribute } = task.unit;
    const places = placesOf(task);
    if (!this.#readings.has(keyOf(attribute, task.unit.path))) {
      const alike = this.#tasks.filter(({ unit }) => unit.attribute === attribute);
      const paths = [...new Set([...places, ...alike.flatMap(placesOf)])];
      const readings = readAttributes(attribute, paths, this.#options);
      for (const [index, path] of paths.entries()) {
        const reading = readings[index];
        if (reading !== undefined) this.#readings.set(keyOf(attribute, path), reading);
      }
    }
    return places.flatMap(path => this.#readings.get(keyOf(attribute, path)) ?? []);
  }
}

function placesOf({ unit, inner }: UnitTask): readonly string[] {
  return [unit.path, ...inner];
}

function keyOf(attribute: string, path: string): string {
  return `${attribute}\0${path}`;
}

/** Measures `request.unit` by what `read` gives; null where the disk does not answer. */
export function measureByAttribute(
  request: WalkRequest,
  read: () => readonly AttributeReading[],
  cache: Cache,
  pulse: Pulse,
): WalkOutcome | null {
  const { unit, knownBytes } = request;
  const identity = identityOf(unit.path);
  if (identity === null) return { outcome: 'vanished' };
  const figure = figureFrom(read());
  if ('isHung' in figure) return null;
  if ('isGone' in figure || identityOf(unit.path)?.name !== identity.name) return { outcome: 'vanished' };
  const bytes = 'bytes' in figure ? figure.bytes : (knownBytes ?? 0);
  const isExact = Number.isSafeInteger(bytes);
  if (!pulse({ directories: 0, files: 0, bytes: isExact ? bytes : 0 })) return { outcome: 'stopped' };
  return {
    outcome: isExact ? 'measured' : 'too large',
    bytes: isExact ? bytes : 0,
    files: 0,
    directories: 0,
    partial: 'fault' in figure,
    unread: [],
    unreadCount: 0,
    leftovers: [],
    leftoverCount: 0,
    objects: null,
    formerOwners: formerOwnersOf(unit, identity, cache),
    ...('fault' in figure ? { rulerFault: figure.fault } : {}),
  };
}

/** The bytes of the unit without those of the places inside it. */
function figureFrom([own, ...inner]: readonly AttributeReading[]): AttributeReading {
  if (own === undefined) return { fault: 'it was not read' };
  if (!('bytes' in own)) return own;
  let { bytes } = own;
  for (const reading of inner) {
    if ('isGone' in reading) continue;
    if (!('bytes' in reading)) return reading;
    bytes -= reading.bytes;
  }
  // The file system adds up one directory after the other, so an inner one may be ahead.
  return { bytes: Math.max(0, bytes) };
}
