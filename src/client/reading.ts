/** Reads the gate's JSON (docs/gate.md) without validation. Any field may be missing. */

import type { QuotaAnswer, QuotaGrace, QuotaReport, QuotaStanding, QuotaUsage } from './answers.ts';

const times: ReadonlySet<string> = new Set(['expires_at', 'measured_at', 'until']);

const noRuling = { used: null, limit: null, group: null, rule: null };
const noFigures = { owner: '', measuredAt: null, partial: false, stale: false };

/** Parses JSON, with times as dates, and wrong times as null. Returns undefined if the text is no JSON. */
export function gateJson(text: string): unknown {
  try {
    return JSON.parse(text, (name, value) => (times.has(name) ? dateOf(value) : value));
  } catch {
    return undefined;
  }
}

/** Reads the fields of `absent` from JSON with names in snake_case. A missing field is as in `absent`. */
export function fieldsOf<Fields extends object>(json: unknown, absent: Fields): Fields {
  const given = new Map(typeof json === 'object' && json !== null ? Object.entries(json) : []);
  const fields = Object.entries(absent).map(([name, value]) => [name, given.get(snakeCase(name)) ?? value]);
  // Each name of `absent` is there; the daemon is trusted to send values of its type.
  return Object.fromEntries(fields) as Fields;
}

export function readAnswer(json: unknown, allowed: boolean): QuotaAnswer {
  const words = { message: allowed ? '' : 'Quota exceeded.', warning: null };
  return {
    ...fieldsOf(json, { ...noFigures, subject: '', wouldRefuse: false, ...words }),
    ...readStanding(json),
    allowed,
    error: null,
  };
}

export function readUsage(json: unknown): QuotaUsage {
  const usage = fieldsOf<QuotaUsage>(json, { ...noFigures, used: {}, groups: [], decisions: {} });
  const decisions = Object.entries(usage.decisions);
  return {
    ...usage,
    decisions: Object.fromEntries(decisions.map(([subject, decision]) => [subject, readStanding(decision)])),
  };
}

function readStanding(json: unknown): QuotaStanding {
  const standing = fieldsOf<QuotaStanding>(json, {
    allowed: false,
    ...noRuling,
    grace: null,
    reported: null,
  });
  const grace = fieldsOf<QuotaGrace>(standing.grace, { until: null, below: -1 });
  const reported = fieldsOf<QuotaReport>(standing.reported, { ...noRuling, message: '' });
  return {
    ...standing,
    grace: grace.below < 0 ? null : grace,
    reported: reported.message === '' ? null : reported,
  };
}

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, letter => `_${letter.toLowerCase()}`);
}

function dateOf(value: unknown): Date | null {
  const date = new Date(typeof value === 'string' ? value : '');
  return Number.isNaN(date.getTime()) ? null : date;
}
