/**
 * From storage templates to units: which directories are one, whose they are, and of what leaf.
 *
 * A layout is plain data. All that touches the disk is synchronous and meant for worker threads;
 * what it finds there comes back as a value, never as an exception.
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
export { beforeFollow } from './disk.ts';
export { isUnchanged, type Layout, type Root, resolveLayout, underRoots, walkedRoots } from './layout.ts';
export { list, locationOf } from './listing.ts';
export { inspect, type Located, locate } from './locate.ts';
export { isOfNetwork, type Mount, type MountTable, mountsIn, mountTable } from './mounts.ts';
export { below, decodePath, encodePath, isUtf8, isWithin } from './path.ts';
export { type ParsedTemplate, parseTemplate, type Segment, type Template } from './template.ts';
export {
  type OwnerSource,
  type StorageKind,
  type StorageSettings,
  storageKinds,
  type Unit,
  type Visibility,
} from './unit.ts';
export { leavesOf } from './units.ts';
export { beforeLook, DiskHangs, isLooking, lookAt, saysHangs, watchLooks } from './watched.ts';
