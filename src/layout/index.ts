/**
 * Finds units by storage templates, with their owners and leaves, and finds out from the address of a request
 * to a server what the request would grow.
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
  resolveLayout,
  resolving,
} from './discover.ts';
export {
  beforeFollow,
  beforeLook,
  coarsestTimeMs,
  DiskHangs,
  directoryStatus,
  entryAt,
  identityAt,
  isSearchable,
  list,
  namesByType,
  notFollowed,
  saysHangs,
  watchLooks,
} from './disk.ts';
export { configEntries, configValue } from './gitconfig.ts';
export {
  isUnchanged,
  type Layout,
  type Links,
  type OwnerSource,
  objectsPathOf,
  parseTemplate,
  type Root,
  type StorageKind,
  type StorageSettings,
  storageKinds,
  type Template,
  type Visibility,
  walkedRoots,
} from './layout.ts';
export { inspect, type Located, locate, locateByMounts } from './locate.ts';
export {
  hasOwnTimes,
  hungMounts,
  isOfNetwork,
  type Mount,
  Mounts,
  type MountTable,
  mountsIn,
  mountsNow,
  mountTable,
  noexecMountAt,
  sourceOf,
} from './mounts.ts';
export {
  below,
  decodePath,
  encodePath,
  isOfCluster,
  isOfGitaly,
  isPool,
  isQuarantineName,
  isWithin,
  type LargeBlob,
  type LargeBlobsLook,
  type Quarantine,
  type QuarantineLook,
  quarantinePath,
} from './path.ts';
export {
  holdsRepositories,
  holdsRepository,
  leavesOf,
  type PlacedUnit,
  type Unit,
  type Unread,
} from './units.ts';
export { lfsBatchRoutes, type PresetName, presetNames, routesOf } from './uploads/presets.ts';
export {
  fileBytesIn,
  parseUrlTemplate,
  repositoryPaths,
  routeSubject,
  type Upload,
  type UploadRoute,
  type UrlTemplate,
  uploadsOf,
  withoutBase,
} from './uploads/routes.ts';
