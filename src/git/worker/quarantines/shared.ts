/** Tells whether several users write into a repository, by its own configuration. */

import { readBounded } from '../../../bounded/index.ts';
import { configValue, decodePath, encodePath } from '../../../layout/index.ts';

/** `core.sharedRepository`. */
export function isShared(path: string): boolean {
  const file = readBounded(encodePath(`${path}/config`));
  if (file.kind !== 'file') return false;
  const said = configValue(decodePath(file.bytes), 'core.sharedRepository');
  if (said.found === 'no value') return true;
  return said.found === 'value' && !/^(?:false|no|off|umask|0|)$/i.test(said.value);
}
