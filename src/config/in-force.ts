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

/** Returns the keys whose values differ. */
export function compareConfigs(old: Config, next: Config): readonly Key<unknown>[] {
  const sections = new Map([...sectionsIn(old), ...sectionsIn(next)].map(section => [section.name, section]));
  return [...sections.values()]
    .flatMap(({ keys }) => keys)
    .filter(key => !isDeepStrictEqual(valueIn(old, key), valueIn(next, key)));
}

/**
 * The old configuration with those changes that need no restart: the keys with `reloads`, as far as what they
 * depend on is in force.
 */
export function merged(old: Config, next: Config): Config {
  // The forge may say whose a repository is and what is public, and only hosts of one store share walks.
  const isWaiting = old.forge?.kind !== next.forge?.kind || old.store.adapter !== next.store.adapter;
  const { storage, storages, scan } = isWaiting ? old : next;
  return Object.freeze({
    ...old,
    quota: next.quota,
    storage,
    storages,
    scan: Object.freeze({ ...next.scan, roots: scan.roots, workers: old.scan.workers }),
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
