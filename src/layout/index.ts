/** From storage templates to units: which directories are one, whose they are, and of what leaf. */

export { type ParsedTemplate, parseTemplate, type Segment, type Template } from './template.ts';
export {
  type OwnerSource,
  type StorageKind,
  type StorageSettings,
  storageKinds,
  type Unit,
  type Visibility,
} from './unit.ts';
