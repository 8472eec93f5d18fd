/**
 * The configuration: app.ini and the environment to a typed, frozen Config.
 *
 * Either all of it is sound, or every fault is told at once, with its place and what to write
 * instead; nothing is guessed, nothing unknown passed over, no secret shown. What exists is
 * stated once, in the definition.
 */

export { isStoreAddress, maskBeforeAt, maskPassword } from './addresses.ts';
export { type Config, type LogLevel, logLevels } from './config.ts';
export { type Section, sections } from './definition.ts';
export { variableOf } from './environment.ts';
export { type ConfigEntry, type ConfigFault, type ConfigOrigin, formatFaults } from './fault.ts';
export type { Where } from './find.ts';
export type { Key } from './key.ts';
export { duration } from './kinds.ts';
export { type LoadedConfig, loadConfig, type RefusedConfig } from './load.ts';
export { nearest } from './nearest.ts';
export { printConfig } from './print.ts';
export { type ConfigChange, compareConfigs, merged } from './reload.ts';
export { encodeValue } from './value.ts';
