/**
 * Says whose a place is: finds units by storage templates, with their owners and leaves, and what a request
 * to a server would grow, by its address.
 *
 * A layout is plain data. All other functions that use the disk are synchronous and meant for worker threads;
 * what they find is returned as a value, never thrown.
 */

export {
  childOf,
  type Directory,
  type Discovered,
  directoryAt,
  discover,
  look,
  namesInTemplate,
  outermost,
} from './discover.ts';
export { beforeFollow, directoryStatus } from './disk.ts';
export { configEntries, configValue } from './gitconfig.ts';
export { hangWords, hungMounts } from './hung-mounts.ts';
export { isUnchanged, type Layout, type Root, resolveLayout, walkedRoots } from './layout.ts';
export { list, locationOf } from './listing.ts';
export { inspect, type Located, locate } from './locate.ts';
export {
  hasOwnTimes,
  isOfNetwork,
  type Mount,
  type MountTable,
  mountsIn,
  mountTable,
  sourceOf,
} from './mounts.ts';
export { below, decodePath, encodePath, isWithin } from './path.ts';
export { isQuarantineName, type Quarantine, quarantinePath } from './quarantine.ts';
export { parseTemplate, type Template } from './template.ts';
export {
  type OwnerSource,
  type StorageKind,
  type StorageSettings,
  storageKinds,
  type Unit,
  type Visibility,
} from './unit.ts';
export { holdsRepositories, holdsRepository, leavesOf, type PlacedUnit, type Unread } from './units.ts';
export { withoutBase } from './uploads/address.ts';
export { lfsBatchRoutes, type PresetName, presetNames, routesOf } from './uploads/presets.ts';
export { repositoryPaths } from './uploads/repository.ts';
export { routeSubject, type Upload, type UploadRoute, uploadsOf } from './uploads/routes.ts';
export { parseUrlTemplate, type UrlTemplate } from './uploads/template.ts';
export { beforeLook, DiskHangs, saysHangs, watchLooks } from './watched.ts';
