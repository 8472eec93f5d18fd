/**
 * Finds out who owns a unit.
 *
 * What stands in a directory's name is an owner whatever its characters are, for its bytes must
 * count; what stands in a file must be a name that softquota takes. A file is read only where
 * reading cannot block or lead elsewhere: a regular one of at most 4 KiB, never through a link.
 */

import { isUtf8 } from 'node:buffer';
import { readBounded } from '../bounded/index.ts';
import { nameFault } from '../quota/index.ts';
import { beforeLook } from './disk.ts';
import { configValue } from './gitconfig.ts';
import type { OwnerSource } from './layout.ts';
import { below, encodePath } from './path.ts';

type Ownership =
  | { readonly owner: string }
  /** Nobody can be told; `fault` says why, for a person. */
  | { readonly owner: null; readonly fault: string }
  /** The path does not say it. */
  | { readonly owner: null; readonly fault: null };

/**
 * The owner of the unit at `path`; `captured` is what its template's `{owner}` stands for. Throws
 * the system's error where the file that tells could not be read though it is there: then
 * nothing is known, not even that nobody owns it.
 */
export function ownerOf(source: OwnerSource, path: string, captured: string | null): Ownership {
  switch (source.by) {
    case 'fixed':
      return { owner: source.name };
    case 'forge':
      return { owner: null, fault: null };
    case 'path':
      if (captured === null) return nobody('its template has no {owner}, and no other OWNER is set');
      return captured.isWellFormed() ? { owner: captured } : nobody("the owner's name is not UTF-8");
    case 'file': {
      const file = smallFile(path, source.name);
      if (!file.ok) return nobody(file.fault);
      const [line = ''] = file.text.split('\n', 1);
      return named(line.trim(), `the first line of the file ${source.name}`);
    }
    case 'git-config': {
      const file = smallFile(path, 'config');
      if (!file.ok) return nobody(file.fault);
      const value = configValue(file.text, source.key);
      if (value.found === 'value') return named(value.value, `${source.key} in the file config`);
      if (value.found === 'fault')
        return nobody(`line ${value.line} of the file config is not what git writes there`);
      return nobody(
        `the file config ${value.found === 'nothing' ? 'has no' : 'gives no value to'} ${source.key}`,
      );
    }
  }
}

function nobody(fault: string): Ownership {
  return { owner: null, fault };
}

function named(name: string, where: string): Ownership {
  const fault = nameFault(name);
  return fault === null ? { owner: name } : nobody(`${where} is not the name of an owner: ${fault}`);
}

const mostBytes = 4096;

const faults = {
  absent: 'is not there',
  link: 'is a link, not a regular file',
  directory: 'is not a regular file',
  special: 'is a pipe, a socket or a device, not a regular file',
} as const;

type SmallFile =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly fault: string };

function smallFile(directory: string, name: string): SmallFile {
  beforeLook(directory);
  const fault = (why: string): SmallFile => ({ ok: false, fault: `the file ${name} ${why}` });
  const file = readBounded(encodePath(below(directory, name)), { mostBytes });
  if (file.kind !== 'file') return fault(faults[file.kind]);
  if (!file.whole) return fault('is over 4 KiB');
  return isUtf8(file.bytes) ? { ok: true, text: file.bytes.toString() } : fault('is not UTF-8');
}
