/** The name of this machine's part of the usage: configured, or made once and kept in DATA_PATH. */

import { randomUUID } from 'node:crypto';
import { closeSync, fsyncSync, linkSync, openSync, readFileSync, unlinkSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { SoftquotaError, systemCode } from '../errors.ts';

const form = /^[A-Za-z0-9._-]{1,64}$/;

/** Throws `configuration` where it can be neither read nor made. */
export function hostIdIn(dataPath: string): string {
  const file = join(dataPath, 'host.id');
  try {
    return read(file) ?? make(file);
  } catch (error) {
    if (error instanceof SoftquotaError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new SoftquotaError('configuration', `${file} cannot be read or made: ${why}`, { cause: error });
  }
}

function read(file: string): string | null {
  try {
    const id = readFileSync(file, 'utf8').trim();
    if (form.test(id)) return id;
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null;
    throw error;
  }
  throw new SoftquotaError(
    'configuration',
    `${file} holds no host's name (letters, digits, ".", "_", "-"); remove it to have one made, or set [server] HOST_ID`,
  );
}

/** Whole or not at all, also when two daemons start at once, and kept before it is used. */
function make(file: string): string {
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
    return read(file) ?? id;
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
