/** The configuration in force, as an app.ini that says of each value where it came from. */

import { printable } from '../text/index.ts';
import { sectionsIn, valueIn } from './definition.ts';
import { type ConfigEntry, type ConfigOrigin, keyId } from './fault.ts';
import type { Key } from './key.ts';
import type { LoadedConfig } from './load.ts';
import { encodeValue } from './value.ts';

/**
 * An app.ini that loads as the same Config from any folder, apart from what is masked: a secret
 * stands in a comment, an address has stars for its user and password.
 */
export function printConfig(loaded: LoadedConfig): string {
  const origins = new Map(loaded.given.map(entry => [keyId(entry), entry]));
  const blocks = sectionsIn(loaded.config)
    .map(section => {
      const lines = section.keys.flatMap(key => printKey(key, loaded, origins.get(keyId(key))));
      return lines.length === 0 ? null : [`[${section.name}]`, ...lines, ''].join('\n');
    })
    .filter(block => block !== null);
  return blocks.join('\n');
}

function printKey(key: Key<unknown>, { config }: LoadedConfig, entry: ConfigEntry | undefined): string[] {
  const from = entry === undefined ? 'default' : originOf(entry.origin);
  const shown = key.mask(key.print(valueIn(config, key)));
  if (shown === null) return [`# ${key.name} = ********  # hidden; ${from}`];
  const words = shown === '' && key.words !== null ? `: ${key.words}` : '';
  const value = shown === '' ? '' : ` ${encodeValue(shown)}`;
  return [`${key.name} =${value}  # ${from}${words}`];
}

function originOf(origin: ConfigOrigin): string {
  if (origin.in === 'file') return printable(`${origin.file}:${origin.line}`);
  return printable(origin.file === null ? origin.variable : `${origin.variable} (${origin.file})`);
}
