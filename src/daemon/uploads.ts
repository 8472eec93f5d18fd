/** Builds the upload routes that a reverse proxy may ask about, from the configuration in force. */

import type { Config } from '../config/index.ts';
import type { UploadSettings } from '../gate/index.ts';
import { lfsBatchRoutes, repositoryPaths, routesOf } from '../layout/index.ts';

/** Gives the settings of a configuration; made once for each. */
export function uploadSettings(current: () => Config): () => UploadSettings {
  let made: { readonly of: Config; readonly settings: UploadSettings } | null = null;
  return () => {
    const config = current();
    if (made?.of !== config) made = { of: config, settings: settingsOf(config) };
    return made.settings;
  };
}

function settingsOf({ gate, lfs, storages }: Config): UploadSettings {
  const { presets, base, isEarly, headers, onError } = gate;
  const templates = storages.find(({ kind }) => kind === 'repos')?.templates ?? [];
  return {
    routes: [...gate.routes, ...routesOf(presets, base, isEarly)],
    headers,
    onError,
    lfs: {
      upstream: lfs.upstream === null ? null : new URL(lfs.upstream),
      batchRoutes: lfsBatchRoutes(base),
      base,
    },
    repositoryPathsOf: ({ owner, repository }) =>
      repository === null ? [] : repositoryPaths(templates, owner, repository),
  };
}

const betweenMs = 60_000;

/** Calls `tell` at most once a minute. */
export function nowAndThen(tell: (text: string) => void): (text: string) => void {
  let toldAt = Number.NEGATIVE_INFINITY;
  return text => {
    const now = performance.now();
    if (now - toldAt < betweenMs) return;
    toldAt = now;
    tell(text);
  };
}
