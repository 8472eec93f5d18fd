/** Finds what changed between two configurations, and what of it a running daemon can take. */

import { isDeepStrictEqual } from 'node:util';
import type { Config } from './config.ts';
import { sectionsIn, valueIn } from './definition.ts';

interface ConfigChange {
  readonly section: string;
  readonly key: string;
  /** Else it takes a restart. */
  readonly reloadable: boolean;
}

export function compareConfigs(old: Config, next: Config): { readonly changed: readonly ConfigChange[] } {
  const sections = new Map([...sectionsIn(old), ...sectionsIn(next)].map(section => [section.name, section]));
  const changed = [...sections.values()]
    .flatMap(({ keys }) => keys)
    .filter(key => !isDeepStrictEqual(valueIn(old, key), valueIn(next, key)))
    .map(({ section, name, reloads }) => ({ section, key: name, reloadable: reloads }));
  return { changed };
}

/** The old configuration with those changes that need no restart: exactly the keys with `reloads`. */
export function merged(old: Config, next: Config): Config {
  return Object.freeze({
    ...old,
    quota: next.quota,
    // The choice between forge and disk, which say what is public, changes only at the next start.
    storages: (old.forge === null) === (next.forge === null) ? next.storages : old.storages,
    scan: Object.freeze({ ...next.scan, workers: old.scan.workers }),
    requests: next.requests,
    hooks: next.hooks,
    gate: Object.freeze({ ...next.gate, addr: old.gate.addr, port: old.gate.port }),
    lfs: next.lfs,
    events: next.events,
    disk: next.disk,
    webhooks: next.webhooks,
    mail: next.mail,
    log: Object.freeze({ ...old.log, level: next.log.level }),
  });
}
