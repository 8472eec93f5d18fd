/** The values for the templates of mails: sizes, names and links as text, and the summary. */

import { z } from 'zod';
import type { Ledger } from '../ledger/index.ts';
import { type Totals, worstKind } from '../overview/index.ts';
import { leafIndex, leaves, subjectWords, totalOf } from '../quota/index.ts';
import { formatBytes, formatCount, formatMoment, formatUse, printable } from '../text.ts';
import { addressOf, type PageId } from '../wire/index.ts';
import type { NoticeDocument } from './deliveries.ts';
import type { MailName, View } from './mail.ts';

export interface ViewOptions {
  readonly ledger: Pick<Ledger, 'ownerUsage' | 'settings' | 'shares' | 'stateDeciderFor'>;
  /** Returns a function that makes the name of a unit for its owner. */
  unitNames(): (unit: { readonly kind: 'walked' | 'reported'; readonly name: string }) => string;
  /** Ends with a slash. */
  baseUrl(): string;
  readonly host: string;
}

const mostUnits = 5;
const mostDetail = 2000;

/**
 * Chooses the template of a mail, and returns its values. `unsubscribe`: the address; null: for
 * administrators.
 */
export async function mailView(
  options: ViewOptions,
  notice: NoticeDocument,
  unsubscribe: string | null,
): Promise<readonly [name: MailName, values: View]> {
  if (notice.type === 'digest') return ['digest', digestView(options, notice)];
  if (unsubscribe === null) return ['admin', adminView(options, notice)];
  return ['owner', await ownerView(options, notice, unsubscribe)];
}

/** Returns the values of an owner's mail, with current figures. */
async function ownerView(options: ViewOptions, notice: NoticeDocument, unsubscribe: string): Promise<View> {
  const { ledger, unitNames } = options;
  const unitName = unitNames();
  const name = notice.owner ?? '';
  const owner = ledger.ownerUsage(name);
  // Bounds of groups are left out, since their bytes are not the owner's alone.
  const decide = ledger.stateDeciderFor(owner, false);
  const { decision, subject } = worstKind(ledger.settings, decide, owner);
  const grace = decision.allowed ? decision.grace : undefined;
  const limited = decision.limit !== null && decision.limit !== -1;
  const use = formatUse(decision.used ?? 0, decision.limit ?? -1);
  const units = await ledger.shares.unitsOf(name, { most: mostUnits });
  const page = owner.type === 'organization' ? addressOf('organization', owner.name) : addressOf('mine');
  return {
    ...common(options, notice),
    owner: printable(owner.name),
    used: limited ? use.used : '',
    limit: use.limit,
    percent: use.percent,
    what: subjectWords(subject),
    grace_until: grace === undefined ? '' : formatMoment(grace.until),
    grace_below: grace === undefined ? '' : formatBytes(grace.below),
    kinds: leaves
      .map(leaf => ({ leaf, bytes: owner.usage[leafIndex(leaf)] ?? 0 }))
      .filter(({ bytes }) => bytes > 0)
      .sort((a, b) => b.bytes - a.bytes)
      .map(({ leaf, bytes }) => ({ name: subjectWords(leaf), size: formatBytes(bytes) })),
    largest: units
      .slice(0, mostUnits)
      .map(unit => ({ name: printable(unitName(unit)), size: formatBytes(unit.bytes) })),
    page: linkTo(options, page),
    unsubscribe,
  };
}

function adminView(options: ViewOptions, notice: NoticeDocument): View {
  const { message: _, event: _event, ...fields } = notice.data;
  const details = Object.entries(fields)
    .filter(([, value]) => value !== null && value !== '')
    .map(([name, value]) => ({ name: name.replaceAll('_', ' '), value: detailOf(name, value) }));
  return {
    ...common(options, notice),
    owner: printable(notice.owner ?? ''),
    details,
    page: linkTo(options, addressOf(pageOf[notice.type] ?? 'events')),
  };
}

const texts = z.record(z.string(), z.string());
/** Texts, and lists of named texts. Ignores other values, which a newer version may have written. */
const digestValues = z.record(z.string(), z.union([z.string(), z.array(texts)]).catch(''));

function digestView(options: ViewOptions, notice: NoticeDocument): View {
  const values = digestValues.parse(notice.data);
  return { ...common(options, notice), ...values, page: linkTo(options, addressOf('overview')) };
}

function common(options: ViewOptions, { message, at }: NoticeDocument): View {
  const host = printable(options.host);
  return { message, at: formatMoment(at), host, site: linkTo(options, './') };
}

function linkTo({ baseUrl }: ViewOptions, address: string): string {
  return new URL(address, baseUrl()).href;
}

const pageOf: Readonly<Partial<Record<NoticeDocument['type'], PageId>>> = {
  request: 'requests',
  fault: 'overview',
  policy: 'policy',
};

const sizes: ReadonlySet<string> = new Set(['bytes', 'limit', 'used']);

function detailOf(name: string, value: unknown): string {
  if (typeof value === 'number' && sizes.has(name)) return value === -1 ? 'unlimited' : formatBytes(value);
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return printable(text.slice(0, mostDetail));
}

export interface Summary {
  /** Milliseconds since 1970, like all times here. */
  readonly since: number;
  readonly figures: Totals['figures'];
  /** Negative if usage shrinks; null: not known yet. */
  readonly growthPerDay: number | null;
  readonly freeBytes: number | null;
  /** The time at which the disk will be full, ISO 8601; null: not within ten years, or unknown. */
  readonly fullAt: string | null;
  /** From the day of `since` up to yesterday. */
  readonly refusals: number;
  readonly openRequests: number;
  /** The owners and groups nearest to a limit, with the used percentage of it. */
  readonly worst: readonly { readonly name: string; readonly state: string; readonly fullness: number }[];
}

/** A higher percentage means that the limit is 0, so that there is no percentage to show. */
const mostPercent = 1_000_000;

/** Returns the values of the summary's template. `dead`: the number of dead deliveries. */
export function summaryValues(summary: Summary, dead: number): Readonly<Record<string, unknown>> {
  const { since, figures, growthPerDay, freeBytes, fullAt, worst } = summary;
  const { owners, over, grace, near, usage, promised, unlimited } = figures;
  const grown = growthPerDay ?? 0;
  const without = unlimited === 0 ? '' : `, and ${formatCount(unlimited)} owners have no limit`;
  const growth = `${formatBytes(Math.abs(grown) * 7)} ${grown < 0 ? 'less' : 'more'} each week`;
  return {
    since: formatMoment(since),
    owners: formatCount(owners),
    over: formatCount(over),
    grace: grace === 0 ? '' : formatCount(grace),
    near: formatCount(near),
    stored: formatBytes(totalOf(usage)),
    growth: growthPerDay === null ? '' : growth,
    promised: `${formatBytes(promised)}${without}`,
    free: freeBytes === null ? '' : formatBytes(freeBytes),
    full_at: fullAt?.slice(0, 10) ?? '',
    refusals: formatCount(summary.refusals),
    requests: formatCount(summary.openRequests),
    dead: dead === 0 ? '' : formatCount(dead),
    worst: worst.map(({ name, state, fullness }) => ({
      name: printable(name),
      state,
      percent: percentOf(fullness),
    })),
  };
}

/** Returns an empty text without a limit, such as if only a warning has one. */
function percentOf(fullness: number): string {
  if (fullness < 0) return '';
  return fullness > mostPercent ? 'over 0' : `${fullness} %`;
}
