/** Routes of presets, as they are asked about. */

import { withoutEnd } from '../../text/index.ts';
import { gitRoutes, type PresetRoute, presetRoutes } from './preset-routes.ts';
import type { UploadRoute } from './routes.ts';
import { parseUrlTemplate, type UrlTemplate } from './template.ts';

export type PresetName = keyof typeof presetRoutes;

export const presetNames = Object.keys(presetRoutes) as readonly PresetName[]; // the keys of a constant

/** The beginnings of GitLab's own addresses, where a group would stand. */
const gitlabNames: ReadonlySet<string> = new Set(['-', 'admin', 'api', 'dashboard', 'groups', 'users', 'v2']);

const lfsBatch: PresetRoute = {
  methods: ['POST'],
  urls: ['/{owner}/**/info/lfs/objects/batch'],
  subject: 'size:git:lfs',
};

/** The batch endpoints of LFS servers, below a path of the server. */
export function lfsBatchRoutes(base: string): readonly UploadRoute[] {
  return belowOrNot(base).map(prefix => made('lfs', lfsBatch, prefix, 'any'));
}

/** Some proxies take the path of the server off before they ask. Below it comes first: `/git` is no owner. */
function belowOrNot(base: string): readonly string[] {
  const prefix = withoutEnd(base, '/');
  return prefix === '' ? [''] : [prefix, ''];
}

const gitPresets: ReadonlySet<PresetName> = new Set(['git-http', 'gitea', 'forgejo', 'gitlab', 'gogs']);

/**
 * The routes of some presets, below a path of the server such as `/git`; with `isEarly` also git's, so that a
 * push is refused before it sends anything.
 */
export function routesOf(
  presets: readonly PresetName[],
  base: string,
  isEarly: boolean,
): readonly UploadRoute[] {
  const early = isEarly && presets.some(preset => gitPresets.has(preset));
  return belowOrNot(base).flatMap(prefix => [
    ...presets.flatMap(preset => presetRoutes[preset].map(route => made(preset, route, prefix, 'any'))),
    ...(early ? gitRoutes.map(route => made('git-http', route, prefix, 'git')) : []),
  ]);
}

function made(
  preset: PresetName,
  { methods, urls, subject, isAtRoot = false }: PresetRoute,
  prefix: string,
  client: UploadRoute['client'],
): UploadRoute {
  const templates = urls.map(url => known(isAtRoot ? url : `${prefix}${url}`));
  // A project's number names no owner.
  const isNoOwner = (name: string) => preset === 'gitlab' && (gitlabNames.has(name) || /^\d+$/.test(name));
  return { name: preset, templates, methods, subject, owner: null, isNoOwner, client };
}

/** A template of ours that cannot be parsed is a mistake of ours. */
function known(url: string): UrlTemplate {
  const parsed = parseUrlTemplate(url);
  if (parsed.ok) return parsed.value;
  throw new TypeError(`${url} is ${parsed.problem}`);
}
