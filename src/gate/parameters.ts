/**
 * From the texts of a request to what they mean; each function throws `bad_parameter`, naming what is wrong.
 */

import { posix } from 'node:path';
import { badParameter } from '../errors.ts';
import type { Ledger } from '../ledger/index.ts';
import { isLeaf, isSubject, type Leaf, leaves, nameFault, type Subject, subjects } from '../quota/index.ts';
import { printable } from '../text/index.ts';
import type { Parameters } from './request.ts';

const longestShown = 80;

/**
 * The longest path that the system takes, less its closing NUL. Looking one up takes a step for each of its
 * names.
 */
const longestPathBytes = 4095;

export function required(parameters: Parameters, name: string): string {
  const value = parameters.get(name);
  if (value === undefined || value === '') throw badParameter(`${name} is missing`);
  return value;
}

/** The name of an owner or of a reported unit. */
export function nameParameter(parameters: Parameters, name: 'actor' | 'owner' | 'unit'): string {
  const value = required(parameters, name);
  const why = nameFault(value);
  if (why !== null) throw badParameter(`${name} is ${shown(value)}, which is no name: ${why}`);
  return value;
}

/** The name of an owner who may be known: a directory can have given a name that nobody could choose here. */
export function askedOwnerIn(parameters: Parameters, { documents }: Pick<Ledger, 'documents'>): string {
  const owner = required(parameters, 'owner');
  return documents.owners.named(owner) === undefined ? nameParameter(parameters, 'owner') : owner;
}

/** An absolute path with single slashes, without `.` and `..`. */
export function pathIn(text: string): string {
  if (!text.startsWith('/')) throw badParameter(`path is ${shown(text)}, where an absolute path is expected`);
  if (text.includes('\0')) throw badParameter('path holds a NUL');
  if (Buffer.byteLength(text) > longestPathBytes)
    throw badParameter(`path has more than ${longestPathBytes} bytes`);
  const path = posix.normalize(text);
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}

/** The subject that is asked about; null where none is given. */
export function subjectIn(parameters: Parameters): Subject | null {
  const subject = parameters.get('subject');
  if (subject === undefined || subject === '') return null;
  if (isSubject(subject)) return subject;
  throw badParameter(`subject is ${shown(subject)}, where one of these is expected: ${subjects.join(', ')}`);
}

export function leafIn(parameters: Parameters): Leaf {
  const subject = required(parameters, 'subject');
  if (isLeaf(subject)) return subject;
  throw badParameter(`subject is ${shown(subject)}, where a leaf is expected: ${leaves.join(', ')}`);
}

/** A size in bytes, from 0 to 2^53 - 1. */
export function bytesIn(parameters: Parameters, name: string): number {
  return wholeNumber(name, required(parameters, name), /^\d+$/, 'a whole number of bytes from 0 to 2^53 - 1');
}

/** A number of seconds from 1 to `most`. */
export function secondsIn(parameters: Parameters, name: string, usual: number, most: number): number {
  const text = parameters.get(name) ?? '';
  const seconds = text === '' ? usual : /^\d{1,10}$/.test(text) ? Number(text) : 0;
  if (seconds >= 1 && seconds <= most) return seconds;
  throw badParameter(
    `${name} is ${shown(text)}, where a whole number of seconds from 1 to ${most} is expected`,
  );
}

/** A difference in bytes. */
export function deltaIn(parameters: Parameters): number {
  const expected = 'a whole number of bytes from -(2^53 - 1) to 2^53 - 1';
  return wholeNumber('delta', required(parameters, 'delta'), /^[-+]?\d+$/, expected);
}

/** Returns the actor for the record; empty if none is given. */
export function actorIn(parameters: Parameters): string {
  return (parameters.get('actor') ?? '') === '' ? '' : nameParameter(parameters, 'actor');
}

/** Returns the name of the push that is about to start, or is over; null if none is given. */
export function pushIn(parameters: Parameters): string | null {
  const push = parameters.get('push') ?? '';
  if (push === '') return null;
  if (/^[!-~]{1,255}$/.test(push)) return push;
  throw badParameter(`push is ${shown(push)}, where at most 255 printable ASCII characters are expected`);
}

function wholeNumber(name: string, text: string, form: RegExp, expected: string): number {
  const number = form.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(number))
    throw badParameter(`${name} is ${shown(text)}, where ${expected} is expected`);
  // -0 is 0.
  return number + 0;
}

function shown(text: string): string {
  return `"${printable(text.length > longestShown ? `${text.slice(0, longestShown)}…` : text)}"`;
}
