/**
 * The configuration: parses app.ini and the environment into a typed, frozen Config.
 *
 * Either the whole configuration is accepted, or all errors are reported at once, each with its place and the
 * fix. Nothing is guessed, no unknown key is ignored, and no secret is shown. Every key is defined once, in
 * the definition.
 */

export { type Config, longestSocketPath } from './assemble.ts';
export { findKey, nearest, routeSections, type Section, sections, webhookSections } from './definition.ts';
export { variableOf, type Where } from './find.ts';
export { compareConfigs, merged, printConfig } from './in-force.ts';
export { type ConfigFault, formatFaults, type Key } from './key.ts';
export { type MailSettings, type NoticeType, noticeTypes, type WebhookSettings } from './keys-notices.ts';
export { duration, graceMost, percentages } from './kinds.ts';
export { encodeValue } from './lines.ts';
export { guardedNames, type LoadedConfig, loadAgain, loadConfig, type RefusedConfig } from './load.ts';
