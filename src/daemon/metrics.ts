/**
 * Counts events, and prints the counts and the present state in the text format of Prometheus.
 *
 * Nobody but an administrator can make many series: no label has values that users choose.
 */

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Fleet } from '../fleet/index.ts';
import { hungDisks } from '../health/index.ts';
import type { Ledger } from '../ledger/index.ts';
import type { ForgeSync, Measuring } from '../measuring/index.ts';
import type { Notices } from '../notices/index.ts';
import type { Totals } from '../overview/index.ts';
import { leaves, type QuotaSettings, type RuleScope, type Subject } from '../quota/index.ts';
import { version } from '../version.ts';
import type { DaemonWorker } from './worker-state.ts';

interface MetricsText {
  readonly contentType: string;
  readonly text: string;
}

/** Gauges with names of counters, which promtool reports as errors. */
const misnamed = ['active_handles', 'active_requests', 'active_resources'].map(
  name => `nodejs_${name}_total`,
);

const durationName = 'softquota_decision_duration_seconds';

export class Metrics {
  readonly #parts: MeteredParts;
  readonly #registry = new Registry();
  readonly #shown = new Map<MetricName, Gauge | Counter>();
  readonly #durations: Histogram;
  /** Counts by result, subject, scope and mode. A check only adds one to a number. */
  readonly #decisions = new Map<string, { readonly labels: Record<string, string>; count: number }>();
  #asked: Promise<MetricsText> | null = null;

  constructor(parts: MeteredParts) {
    this.#parts = parts;
    const registers = [this.#registry];
    for (const [name, { kind, help, labels }] of allMetrics) {
      if (kind === 'histogram') continue;
      const Kind = kind === 'gauge' ? Gauge : Counter;
      this.#shown.set(name, new Kind({ name, help, labelNames: [...labels], registers }));
    }
    const { help } = metricSpecs[durationName];
    this.#durations = new Histogram({ name: durationName, help, buckets: [...decisionBuckets], registers });
    collectDefaultMetrics({ register: this.#registry });
    for (const name of misnamed) this.#registry.removeSingleMetric(name);
  }

  decided(
    result: 'allowed' | 'refused' | 'would_refuse',
    subject: Subject,
    per: RuleScope,
    { enabled, mode }: Pick<QuotaSettings, 'enabled' | 'mode'>,
  ): void {
    const inForce = enabled ? mode : 'off';
    const key = `${result} ${subject} ${per} ${inForce}`;
    const known = this.#decisions.get(key);
    if (known !== undefined) known.count += 1;
    else this.#decisions.set(key, { labels: { result, subject, per, mode: inForce }, count: 1 });
  }

  took(milliseconds: number): void {
    this.#durations.observe(milliseconds / 1000);
  }

  collected(freedBytes: number, hasFailed: boolean): void {
    this.#shown.get('softquota_reclaimed_bytes_total')?.inc(Math.max(0, freedBytes));
    this.#shown.get('softquota_collections_total')?.inc({ result: hasFailed ? 'failed' : 'done' });
  }

  /** Makes the text. Calls meanwhile share the result. */
  text(): Promise<MetricsText> {
    this.#asked ??= this.#text().finally(() => {
      this.#asked = null;
    });
    return this.#asked;
  }

  async #text(): Promise<MetricsText> {
    const moment = await daemonState(this.#parts);
    for (const [name, { labels, samples }] of allMetrics) {
      const metric = this.#shown.get(name);
      if (samples === undefined || metric === undefined) continue;
      metric.reset();
      // After a reset, a metric without labels is 0 instead of absent.
      if (labels.length === 0) metric.remove();
      for (const sample of samples(moment)) {
        const given = Object.fromEntries(labels.map((label, at) => [label, String(sample[at])]));
        metric.inc(given, Number(sample.at(-1)));
      }
    }
    const decisions = this.#shown.get('softquota_decisions_total');
    decisions?.reset();
    for (const { labels, count } of this.#decisions.values()) decisions?.inc(labels, count);
    return { contentType: this.#registry.contentType, text: await this.#registry.metrics() };
  }
}

interface MeteredParts {
  readonly ledger: Ledger;
  readonly totals: Totals;
  readonly measuring: Measuring;
  readonly fleet: Fleet | null;
  readonly forge: ForgeSync | null;
  readonly worker: DaemonWorker;
  readonly notices: Notices;
  isReady(): boolean;
}

/** Time limit for disks that do not answer. */
const deadlineMs = 1000;

type Moment = Awaited<ReturnType<typeof daemonState>>;

async function daemonState(parts: MeteredParts) {
  const { ledger, totals, measuring, forge, worker } = parts;
  const [figures, disks, origins, repositories] = await Promise.all([
    totals.lately(),
    measuring.scanner.disks(deadlineMs),
    ledger.units.origins(),
    worker.space.observed(),
  ]);
  // `read` is null if there is no forge.
  const read = forge?.observed() ?? null;
  return { ...parts, figures, disks, origins, repositories, read, observed: measuring.observed() };
}

type Sample = readonly [...labels: string[], figure: number];

interface MetricSpec {
  readonly kind: 'counter' | 'gauge' | 'histogram';
  /** One sentence without its full stop. */
  readonly help: string;
  readonly labels: readonly string[];
  /** Omitted if events are counted as they happen. */
  readonly samples?: (moment: Moment) => readonly Sample[];
}

/** A metric without labels; null or undefined: no sample. */
function gauge(help: string, value: (moment: Moment) => number | boolean | null | undefined): MetricSpec {
  return gauges(help, [], moment => {
    const figure = value(moment);
    return figure === null || figure === undefined ? [] : [[Number(figure)]];
  });
}

function gauges(
  help: string,
  labels: readonly string[],
  samples: (moment: Moment) => readonly Sample[],
): MetricSpec {
  return { kind: 'gauge', help, labels, samples };
}

function counter(help: string, labels: readonly string[] = []): MetricSpec {
  return { kind: 'counter', help, labels };
}

/** The upper bounds of the buckets of a decision's time, in seconds. */
const decisionBuckets: readonly number[] = [0.000_01, 0.000_03, 0.000_1, 0.000_3, 0.001, 0.003, 0.01, 0.1, 1];

export const metricSpecs = {
  softquota_build_info: gauges('Always 1; the label has the version', ['version'], () => [[version, 1]]),
  softquota_ready: gauge('1 while /readyz answers that decisions are reliable, else 0', ({ isReady }) =>
    isReady(),
  ),
  softquota_enforcing: gauge(
    '1 where quotas refuse; 0 where they are off or only reported',
    ({ ledger: { settings } }) => settings.enabled && settings.mode === 'enforce',
  ),
  softquota_decisions_total: counter(
    'Decisions since the start; result is allowed, refused or would_refuse, per is what the deciding rule limits ' +
      '(owner, group, repository, push or file), mode is enforce, report or off',
    ['result', 'subject', 'per', 'mode'],
  ),
  softquota_decision_duration_seconds: {
    kind: 'histogram',
    help: 'The time from a check that is read to its answer, without looking a new path up on the disk',
    labels: [],
  },
  softquota_owners: gauges('Owners by their state: over, grace, near or ok', ['state'], ({ figures }) => {
    const { owners, over, grace, near } = figures;
    return [
      ['over', over],
      ['grace', grace],
      ['near', near],
      ['ok', owners - over - grace - near],
    ];
  }),
  softquota_promised_bytes: gauge(
    'The sum of the limits that owners have for everything',
    ({ figures }) => figures.promised,
  ),
  softquota_unlimited_owners: gauge(
    'Owners without a limit for everything',
    ({ figures }) => figures.unlimited,
  ),
  softquota_usage_bytes: gauges(
    'Stored bytes of all owners; source is walked (found on a disk), reported (by programs), forge (its database) or ' +
      'other_hosts',
    ['subject', 'source'],
    usageOf,
  ),
  softquota_source_bytes: gauges(
    'Those of them that were reported as a whole set, by its name; forge is the database of the forge',
    ['source'],
    ({ ledger }) => ledger.sources.list.map(({ name, bytes }) => [name, bytes]),
  ),
  softquota_unowned_bytes: gauges(
    'Stored bytes that belong to nobody, by reason',
    ['reason'],
    ({ read }) => read?.unowned.map(({ reason, bytes }) => [reason, bytes]) ?? [],
  ),
  softquota_units: gauge('Units that are known on this host', ({ ledger }) => ledger.units.unitCount),
  softquota_sweep_duration_seconds: gauge('The time that the last finished sweep took', ({ ledger }) => {
    const sweep = ledger.walks.lastSweep;
    return sweep && (sweep.finishedAt - sweep.startedAt) / 1000;
  }),
  softquota_sweep_finished_timestamp_seconds: gauge(
    'When the last sweep finished; absent before',
    ({ ledger }) => secondsOf(ledger.walks.lastSweep?.finishedAt),
  ),
  softquota_sweep_failed: gauge(
    '1 where the last sweep failed, else 0',
    ({ observed }) => observed.sweepError !== null,
  ),
  softquota_sweep_unread_places: gauge(
    'Places that the last sweep could not read',
    ({ observed }) => observed.unread.count,
  ),
  softquota_drift_bytes: gauge(
    'By how much the known figures were wrong at the last verify; absent before one',
    moment => driftOf(moment)?.bytes,
  ),
  softquota_drift_units: gauge(
    'How many units had a wrong figure at the last verify',
    moment => driftOf(moment)?.units,
  ),
  softquota_quarantine_bytes: gauge(
    'Bytes in quarantines that belong to no known push, such as those of uploads that were broken off',
    ({ measuring }) => measuring.pushes.strays.bytes,
  ),
  softquota_quarantine_oldest_seconds: gauge(
    'The age of the oldest of them; absent where there is none',
    ({ measuring }) => secondsOf(measuring.pushes.strays.oldestMs),
  ),
  softquota_hanging_disks: gauge(
    'File systems that do not answer',
    ({ observed }) => hungDisks(observed.hangs).length,
  ),
  softquota_waiting_walks: gauges(
    'Units that wait to be walked; queue is soon (after a push) or sweep',
    ['queue'],
    ({ measuring }) => Object.entries(measuring.scanner.status().waiting),
  ),
  softquota_waiting_writes: gauge(
    'Records that wait to be written into the store',
    ({ ledger }) => ledger.waitingWrites,
  ),
  softquota_store_up: gauges(
    '1 while the store can be used, else 0; store is local or shared (Redis)',
    ['store'],
    ({ ledger, fleet }) => [
      ['local', Number(ledger.storeAway === null)],
      ...(fleet === null
        ? []
        : [['shared', Number((fleet.state.away ?? fleet.state.untold) === null)] as const]),
    ],
  ),
  softquota_forge_up: gauge(
    "1 while the forge's database can be read and its figures are used, else 0",
    ({ read }) => read && read.fault === null,
  ),
  softquota_forge_read_timestamp_seconds: gauge("When the forge's database was read last", ({ read }) =>
    secondsOf(read?.readAt),
  ),
  softquota_worker_up: gauge(
    '1 while the worker reports, else 0; absent where none ever did',
    ({ worker }) => (worker.isKnown ? worker.isHere : null),
  ),
  softquota_unreachable_bytes: gauge(
    'Bytes in repositories that no ref reaches and the worker may delete, as far as it has measured them',
    ({ worker, repositories }) => (worker.isKnown ? repositories.unreachableBytes : null),
  ),
  softquota_reclaimed_bytes_total: counter('Bytes that collections of garbage freed since the start'),
  softquota_collections_total: counter('Collections of garbage since the start; result is done or failed', [
    'result',
  ]),
  softquota_notices: gauges(
    'Notices by place (a webhook, or mail); state is waiting (to be delivered) or dead (given up)',
    ['place', 'state'],
    ({ notices }) =>
      notices.places().flatMap(({ name, pending, dead }): readonly Sample[] => [
        [name, 'waiting', pending],
        [name, 'dead', dead],
      ]),
  ),
  softquota_notice_attempts_total: {
    kind: 'counter',
    help: 'Attempts to deliver a notice since the start; result is sent or failed',
    labels: ['place', 'result'],
    samples: ({ notices }) =>
      notices.places().flatMap(({ name, sent, failed }): readonly Sample[] => [
        [name, 'sent', sent],
        [name, 'failed', failed],
      ]),
  },
  softquota_disk_size_bytes: gauges('The size of a file system that has storage', ['path'], ({ disks }) =>
    disks.flatMap(({ path, sizeBytes }) => (sizeBytes === null ? [] : [[path, sizeBytes] as const])),
  ),
  softquota_disk_free_bytes: gauges('Its free bytes', ['path'], ({ disks }) =>
    disks.flatMap(({ path, freeBytes }) => (freeBytes === null ? [] : [[path, freeBytes] as const])),
  ),
} as const satisfies Readonly<Record<string, MetricSpec>>;

type MetricName = keyof typeof metricSpecs;

/** Object.entries loses the type of the names. */
const allMetrics = Object.entries(metricSpecs) as readonly (readonly [MetricName, MetricSpec])[];

function usageOf({ figures, origins, forge, fleet }: Moment): readonly Sample[] {
  return leaves.flatMap((subject, at): readonly Sample[] => {
    const [reported = 0, read = 0, others = 0] = [origins.reported, origins.forge, origins.otherHosts].map(
      bytes => bytes[at] ?? 0,
    );
    const walked = Math.max(0, (figures.usage[at] ?? 0) - reported - read - others);
    return [
      [subject, 'walked', walked],
      [subject, 'reported', reported],
      ...(forge === null ? [] : [[subject, 'forge', read] as const]),
      ...(fleet === null ? [] : [[subject, 'other_hosts', others] as const]),
    ];
  });
}

function driftOf({ measuring }: Moment) {
  return measuring.scanner.runs().find(({ drift }) => drift !== null)?.drift ?? null;
}

function secondsOf(milliseconds: number | null | undefined): number | null {
  return milliseconds === null || milliseconds === undefined ? null : milliseconds / 1000;
}
