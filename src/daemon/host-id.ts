/** By what this machine is known: names that are made once and kept in DATA_PATH. */

import { randomUUID } from 'node:crypto';
import { closeSync, fsyncSync, linkSync, openSync, readFileSync, unlinkSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { SoftquotaError, systemCode } from '../errors.ts';

const form = /^[A-Za-z0-9._-]{1,64}$/;

/** What `[server] HOST_ID` is unless it is given. Throws `configuration` where it can be neither read nor made. */
export function hostIdIn(dataPath: string): string {
  return keptIn(join(dataPath, 'host.id'), ', or set [server] HOST_ID');
}

/** By which this machine proves to be the one that had its name before; nobody else's. Throws the same. */
export function hostTokenIn(dataPath: string): string {
  return keptIn(join(dataPath, 'host.token'), '');
}

function keptIn(file: string, otherwise: string): string {
  try {
    return read(file, otherwise) ?? make(file, otherwise);
  } catch (error) {
    if (error instanceof SoftquotaError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new SoftquotaError('configuration', `${file} cannot be read or made: ${why}`, { cause: error });
  }
}

function read(file: string, otherwise: string): string | null {
  try {
    const id = readFileSync(file, 'utf8').trim();
    if (form.test(id)) return id;
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null;
    throw error;
  }
  throw new SoftquotaError(
    'configuration',
    `${file} holds no host's name (letters, digits, ".", "_", "-"); remove it to have one made${otherwise}`,
  );
}

/** Whole or not at all, also when two daemons start at once, and kept before it is used. */
function make(file: string, otherwise: string): string {
  const id = randomUUID();
  const draft = `${file}.new-${id}`;
  const descriptor = openSync(draft, 'wx', 0o600);
  try {
    writeSync(descriptor, `${id}\n`);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  try {
    linkSync(draft, file);
    syncDirectory(dirname(file));
    return id;
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error;
    return read(file, otherwise) ?? id;
  } finally {
    unlinkSync(draft);
  }
}

function syncDirectory(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
