/** Prints the configuration in force as an app.ini, and finds the changes that a reload can apply. */

import { isDeepStrictEqual } from 'node:util';
import { printable } from '../text.ts';
import type { Config } from './assemble.ts';
import { sectionsIn, valueIn } from './definition.ts';
import { type ConfigEntry, type ConfigOrigin, type Key, keyId } from './key.ts';
import { encodeValue } from './lines.ts';
import type { LoadedConfig } from './load.ts';

/** An app.ini that loads as the same Config, except secrets, which are commented out or masked. */
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

interface ConfigChange {
  readonly section: string;
  readonly key: string;
  /** False if the change needs a restart. */
  readonly reloadable: boolean;
}

export function compareConfigs(old: Config, next: Config): readonly ConfigChange[] {
  const sections = new Map([...sectionsIn(old), ...sectionsIn(next)].map(section => [section.name, section]));
  return [...sections.values()]
    .flatMap(({ keys }) => keys)
    .filter(key => !isDeepStrictEqual(valueIn(old, key), valueIn(next, key)))
    .map(({ section, name, reloads }) => ({ section, key: name, reloadable: reloads }));
}

/**
 * The old configuration with those changes that need no restart: the keys with `reloads`, as far as what they
 * depend on is in force.
 */
export function merged(old: Config, next: Config): Config {
  return Object.freeze({
    ...old,
    quota: next.quota,
    // The forge or the disk says what is public; changing between them needs a restart.
    storages: (old.forge === null) === (next.forge === null) ? next.storages : old.storages,
    scan: Object.freeze({ ...next.scan, workers: old.scan.workers }),
    requests: next.requests,
    hooks: next.hooks,
    gate: Object.freeze({ ...next.gate, addr: old.gate.addr, port: old.gate.port }),
    lfs: next.lfs,
    events: next.events,
    disk: next.disk,
    webhooks: next.webhooks,
    // Mails need ROOT_URL for their links, and that of the new configuration is in force after a restart.
    mail: old.server.rootUrl === null ? old.mail : next.mail,
    log: Object.freeze({ ...old.log, level: next.log.level }),
  });
}
