/**
 * Uploads: finds out from a request what it would grow, and whose usage that is, for a reverse proxy that
 * asks before it lets an upload through. Pure functions over addresses and route tables.
 */

export { gitRoutes, type PresetRoute, presetRoutes } from './preset-routes.ts';
export { lfsBatchRoutes, type PresetName, presetNames, routesOf } from './presets.ts';
export { repositoryPaths } from './repository.ts';
export {
  inAskingOrder,
  type RouteSubject,
  routeSubject,
  type Upload,
  type UploadRoute,
  uploadsOf,
} from './routes.ts';
export { parseUrlTemplate, type UrlTemplate } from './template.ts';
