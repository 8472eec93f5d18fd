/**
 * The answer to "may this owner start something that grows this subject now?"
 *
 * A rule refuses when its headroom (limit - usage) is used up, so of a group's covering rules
 * the one with the least headroom speaks for the group, and of the groups the one with the most
 * headroom speaks for the owner: whether anything refuses or allows follows from that one rule.
 */

import { builtinRule, type CompiledGroup, type CompiledRule, subjectBit } from './policy.ts';
import { leafMask, type RuleSubject, type Subject } from './subjects.ts';
import { bytesUnder, type Usage } from './usage.ts';

export interface QuotaSettings {
  /** False: everything is allowed. */
  readonly enabled: boolean;
  /** `exceeded`: usage > limit refuses; `reached`: usage >= limit does. */
  readonly refuseWhen: 'exceeded' | 'reached';
  /** What follows where every group of a step is silent: the next step, or a refusal. */
  readonly uncovered: 'default' | 'deny';
  /** Whether the bytes about to be added count. */
  readonly precise: boolean;
  /** `report` lets everything through; that is for the asker to do, `decide` decides the same. */
  readonly mode: 'enforce' | 'report';
  /** Whole percents of a limit, ascending. */
  readonly warnAt: readonly number[];
  /** The built-in group's limit; -1: unlimited. */
  readonly totalBytes: number;
}

/** The groups that bear on one owner. */
export interface Standing {
  /** Those explicitly assigned. */
  readonly assigned: readonly CompiledGroup[];
  /** The existing ones of DEFAULT_GROUPS. */
  readonly defaults: readonly CompiledGroup[];
}

/** The ladder, in the order in which it is asked. */
export type LadderStep = 'assigned' | 'defaults' | 'builtin';

export type Decision =
  | {
      readonly by: 'disabled';
      readonly allowed: true;
      readonly step: null;
      /** All bytes of the owner. */
      readonly used: number;
      readonly limit: -1;
      readonly group: null;
      readonly rule: null;
      readonly subjects: readonly RuleSubject[];
      readonly warnPercent: null;
    }
  | {
      readonly by: 'rule';
      readonly allowed: boolean;
      readonly step: LadderStep;
      /** The bytes that the deciding rule counts, without those about to be added. */
      readonly used: number;
      /** The deciding rule's; -1: unlimited. */
      readonly limit: number;
      /** Null for the built-in group, and so is `rule`. */
      readonly group: string | null;
      readonly rule: string | null;
      /** The deciding rule's. */
      readonly subjects: readonly RuleSubject[];
      /** The highest of `warnAt` that `used` reaches; null below all, and when refused. */
      readonly warnPercent: number | null;
    }
  | {
      /** No rule covers the subject, and `uncovered` is `deny`. */
      readonly by: 'silence';
      readonly allowed: false;
      readonly step: LadderStep;
      readonly used: null;
      readonly limit: null;
      readonly group: null;
      readonly rule: null;
      readonly subjects: readonly [];
      readonly warnPercent: null;
    };

const everything: readonly RuleSubject[] = Object.freeze(['size:all'] as const);
const nothing = Object.freeze([] as const);

/** What a rule leaves: bytes, endless without a limit, and less than any other at limit 0. */
export function headroom(limitBytes: number, usedBytes: number): number {
  if (limitBytes === -1) return Number.POSITIVE_INFINITY;
  if (limitBytes === 0) return Number.NEGATIVE_INFINITY;
  return limitBytes - usedBytes;
}

/** Whether so much headroom refuses so many bytes. Comparing these never leaves 2^53. */
export function refuses(settings: QuotaSettings, room: number, addingBytes: number): boolean {
  return settings.refuseWhen === 'reached' ? room <= addingBytes : room < addingBytes;
}

/** The bytes that count as about to be added. */
export function countedAdding(settings: QuotaSettings, addingBytes: number): number {
  return settings.precise ? addingBytes : 0;
}

/** The rule that speaks for its group, or for the owner. */
interface Speaker {
  readonly group: string | null;
  readonly rule: CompiledRule;
  readonly used: number;
  readonly room: number;
}

/** Of a group's covering rules the one with the least headroom, ties by name; null: the group is silent. */
function tightest(group: CompiledGroup, asked: number, usage: Usage): Speaker | null {
  let found: CompiledRule | null = null;
  let foundUsed = 0;
  let foundRoom = 0;
  for (const rule of group.rules) {
    if ((rule.covers & asked) === 0) continue;
    const used = bytesUnder(usage, rule.counts);
    const room = headroom(rule.limitBytes, used);
    if (found === null || room < foundRoom || (room === foundRoom && before(rule.name, found.name))) {
      found = rule;
      foundUsed = used;
      foundRoom = room;
    }
  }
  return found === null ? null : { group: group.name, rule: found, used: foundUsed, room: foundRoom };
}

/** Of the groups' tightest rules the one with the most headroom, ties by the group's name; null: all are silent. */
function roomiest(groups: readonly CompiledGroup[], asked: number, usage: Usage): Speaker | null {
  let found: Speaker | null = null;
  for (const group of groups) {
    const speaker = tightest(group, asked, usage);
    if (speaker === null) continue;
    if (
      found === null ||
      speaker.room > found.room ||
      (speaker.room === found.room && before(speaker.group, found.group))
    ) {
      found = speaker;
    }
  }
  return found;
}

function before(a: string | null, b: string | null): boolean {
  return a !== null && b !== null && a < b;
}

/**
 * Decides. Groups and rules may stand in any order. `addingBytes` (0 or more) counts only where
 * `settings.precise` says so. Throws `sum_too_large` where usage passes 2^53 - 1.
 */
export function decide(
  settings: QuotaSettings,
  standing: Standing,
  usage: Usage,
  subject: Subject,
  addingBytes = 0,
): Decision {
  if (!settings.enabled) return disabled(usage);
  const asked = subjectBit(subject);
  const adding = countedAdding(settings, addingBytes);
  if (standing.assigned.length > 0) {
    const speaker = roomiest(standing.assigned, asked, usage);
    if (speaker !== null) return byRule(settings, 'assigned', speaker, adding);
    if (settings.uncovered === 'deny') return silence('assigned');
  }
  if (standing.defaults.length > 0) {
    const speaker = roomiest(standing.defaults, asked, usage);
    if (speaker !== null) return byRule(settings, 'defaults', speaker, adding);
    if (settings.uncovered === 'deny') return silence('defaults');
  }
  const rule = builtinRule(settings.totalBytes);
  const used = bytesUnder(usage, rule.counts);
  return byRule(
    settings,
    'builtin',
    { group: null, rule, used, room: headroom(rule.limitBytes, used) },
    adding,
  );
}

function disabled(usage: Usage): Decision {
  return {
    by: 'disabled',
    allowed: true,
    step: null,
    used: bytesUnder(usage, leafMask('size:all')),
    limit: -1,
    group: null,
    rule: null,
    subjects: everything,
    warnPercent: null,
  };
}

function silence(step: LadderStep): Decision {
  return {
    by: 'silence',
    allowed: false,
    step,
    used: null,
    limit: null,
    group: null,
    rule: null,
    subjects: nothing,
    warnPercent: null,
  };
}

function byRule(settings: QuotaSettings, step: LadderStep, speaker: Speaker, adding: number): Decision {
  const { group, rule, used, room } = speaker;
  const allowed = !refuses(settings, room, adding);
  return {
    by: 'rule',
    allowed,
    step,
    used,
    limit: rule.limitBytes,
    group,
    rule: rule.name,
    subjects: rule.subjects,
    warnPercent: allowed && rule.limitBytes > 0 ? reached(settings.warnAt, used, rule.limitBytes) : null,
  };
}

/** The highest threshold that usage reaches, exact also where `used * 100` would not be. */
function reached(warnAt: readonly number[], used: number, limit: number): number | null {
  const hundredth = Math.floor(limit / 100);
  const rest = limit % 100;
  return warnAt.findLast(percent => used >= hundredth * percent + Math.ceil((rest * percent) / 100)) ?? null;
}
