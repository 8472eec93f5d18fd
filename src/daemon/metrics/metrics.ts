/**
 * Counts what happens, and gives it with the state of now in the text form of Prometheus.
 *
 * Nothing is counted, and no label comes up, that anybody but an administrator could make many of.
 */

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Origins } from '../../ledger/index.ts';
import type { QuotaSettings, Subject } from '../../quota/index.ts';
import { leaves, type Usage } from '../../quota/index.ts';
import { decisionBuckets, type MetricName, metricSpecs } from './catalog.ts';

/** The state of the daemon at one moment. Times are milliseconds since 1970. */
export interface MetricsState {
  readonly isReady: boolean;
  readonly settings: Pick<QuotaSettings, 'enabled' | 'mode'>;
  readonly owners: {
    readonly total: number;
    readonly over: number;
    readonly grace: number;
    readonly near: number;
  };
  /** The sum of the limits for everything, and how many owners have none. */
  readonly promised: number;
  readonly unlimited: number;
  /** Bytes of each leaf. */
  readonly usage: Usage;
  /** Those of them that were not found on a disk of this host. */
  readonly origins: Origins;
  readonly sources: readonly { readonly name: string; readonly bytes: number }[];
  readonly unowned: readonly { readonly reason: string; readonly bytes: number }[];
  readonly units: number;
  /** Null before the first. */
  readonly sweep: { readonly startedAt: number; readonly finishedAt: number } | null;
  readonly hasSweepFailed: boolean;
  readonly unreadPlaces: number;
  /** Null where nothing was verified yet. */
  readonly drift: { readonly units: number; readonly bytes: number } | null;
  /** The quarantines that count and belong to no push. */
  readonly strays: { readonly bytes: number; readonly oldestMs: number | null };
  readonly hangingDisks: number;
  readonly waitingWalks: { readonly soon: number; readonly sweep: number };
  readonly waitingWrites: number;
  /** Null: there is none. */
  readonly stores: { readonly isLocalUp: boolean; readonly isSharedUp: boolean | null };
  readonly forge: { readonly isUp: boolean; readonly readAt: number | null } | null;
  readonly worker: { readonly isUp: boolean; readonly unreachableBytes: number } | null;
  /** The places that notices go to. */
  readonly notices: readonly {
    readonly name: string;
    readonly pending: number;
    readonly dead: number;
    readonly sent: number;
    readonly failed: number;
  }[];
  readonly disks: readonly {
    readonly path: string;
    readonly sizeBytes: number | null;
    readonly freeBytes: number | null;
  }[];
}

interface MetricsOptions {
  readonly version: string;
  state(): Promise<MetricsState>;
}

/** The text of all metrics, and its type. */
interface MetricsText {
  readonly contentType: string;
  readonly text: string;
}

/** Counts of now, which are called like counters; promtool complains of them. */
const misnamed = ['active_handles', 'active_requests', 'active_resources'].map(
  name => `nodejs_${name}_total`,
);

type DecisionResult = 'allowed' | 'refused' | 'would_refuse';

export class Metrics {
  readonly #options: MetricsOptions;
  readonly #registry = new Registry();
  readonly #gauges = new Map<MetricName, Gauge>();
  readonly #counters = new Map<MetricName, Counter>();
  readonly #durations: Histogram;
  /** By result, subject and mode; a check only adds one to a number. */
  readonly #decisions = new Map<string, { readonly labels: Record<string, string>; count: number }>();
  #asked: Promise<MetricsText> | null = null;

  constructor(options: MetricsOptions) {
    this.#options = options;
    const registers = [this.#registry];
    for (const name of namesOf('gauge')) {
      const { help, labels } = metricSpecs[name];
      this.#gauges.set(name, new Gauge({ name, help, labelNames: [...labels], registers }));
    }
    for (const name of namesOf('counter')) {
      const { help, labels } = metricSpecs[name];
      this.#counters.set(name, new Counter({ name, help, labelNames: [...labels], registers }));
    }
    const name = 'softquota_decision_duration_seconds';
    const { help } = metricSpecs[name];
    this.#durations = new Histogram({ name, help, buckets: [...decisionBuckets], registers });
    collectDefaultMetrics({ register: this.#registry });
    for (const name of misnamed) this.#registry.removeSingleMetric(name);
    this.#gauge('softquota_build_info').set({ version: options.version }, 1);
  }

  /** Something was decided, which took so long where that is known. */
  decided(
    result: DecisionResult,
    subject: Subject,
    { enabled, mode }: Pick<QuotaSettings, 'enabled' | 'mode'>,
  ): void {
    const inForce = enabled ? mode : 'off';
    const key = `${result} ${subject} ${inForce}`;
    const known = this.#decisions.get(key);
    if (known !== undefined) known.count += 1;
    else this.#decisions.set(key, { labels: { result, subject, mode: inForce }, count: 1 });
  }

  /** A check was answered in so many milliseconds. */
  took(milliseconds: number): void {
    this.#durations.observe(milliseconds / 1000);
  }

  /** The worker collected garbage. */
  collected(freedBytes: number, hasFailed: boolean): void {
    this.#counter('softquota_reclaimed_bytes_total').inc(Math.max(0, freedBytes));
    this.#counter('softquota_collections_total').inc({ result: hasFailed ? 'failed' : 'done' });
  }

  /** Makes the text. Callers that come while it is being made get that one. */
  text(): Promise<MetricsText> {
    this.#asked ??= this.#text().finally(() => {
      this.#asked = null;
    });
    return this.#asked;
  }

  async #text(): Promise<MetricsText> {
    this.#show(await this.#options.state());
    return { contentType: this.#registry.contentType, text: await this.#registry.metrics() };
  }

  #show(state: MetricsState): void {
    const { owners, sweep, drift, stores, forge, worker } = state;
    const decisions = this.#counter('softquota_decisions_total');
    decisions.reset();
    for (const { labels, count } of this.#decisions.values()) decisions.inc(labels, count);
    this.#set('softquota_ready', Number(state.isReady));
    this.#set('softquota_enforcing', Number(state.settings.enabled && state.settings.mode === 'enforce'));
    this.#setEach('softquota_owners', 'state', [
      ['over', owners.over],
      ['grace', owners.grace],
      ['near', owners.near],
      ['ok', owners.total - owners.over - owners.grace - owners.near],
    ]);
    this.#set('softquota_promised_bytes', state.promised);
    this.#set('softquota_unlimited_owners', state.unlimited);
    this.#showUsage(state);
    this.#setEach(
      'softquota_source_bytes',
      'source',
      state.sources.map(({ name, bytes }) => [name, bytes]),
    );
    this.#setEach(
      'softquota_unowned_bytes',
      'reason',
      state.unowned.map(({ reason, bytes }) => [reason, bytes]),
    );
    this.#set('softquota_units', state.units);
    this.#set('softquota_sweep_duration_seconds', sweep && (sweep.finishedAt - sweep.startedAt) / 1000);
    this.#set('softquota_sweep_finished_timestamp_seconds', sweep && sweep.finishedAt / 1000);
    this.#set('softquota_sweep_failed', Number(state.hasSweepFailed));
    this.#set('softquota_sweep_unread_places', state.unreadPlaces);
    this.#set('softquota_drift_bytes', drift?.bytes);
    this.#set('softquota_drift_units', drift?.units);
    this.#set('softquota_quarantine_bytes', state.strays.bytes);
    const { oldestMs } = state.strays;
    this.#set('softquota_quarantine_oldest_seconds', oldestMs && oldestMs / 1000);
    this.#set('softquota_hanging_disks', state.hangingDisks);
    this.#setEach('softquota_waiting_walks', 'queue', Object.entries(state.waitingWalks));
    this.#set('softquota_waiting_writes', state.waitingWrites);
    this.#setEach('softquota_store_up', 'store', [
      ['local', Number(stores.isLocalUp)],
      ...(stores.isSharedUp === null ? [] : [['shared', Number(stores.isSharedUp)] as const]),
    ]);
    this.#set('softquota_forge_up', forge && Number(forge.isUp));
    const readAt = forge?.readAt ?? null;
    this.#set('softquota_forge_read_timestamp_seconds', readAt && readAt / 1000);
    this.#set('softquota_worker_up', worker && Number(worker.isUp));
    this.#set('softquota_unreachable_bytes', worker?.unreachableBytes);
    this.#showNotices(state);
    this.#setEach('softquota_disk_size_bytes', 'path', knownOf(state.disks, 'sizeBytes'));
    this.#setEach('softquota_disk_free_bytes', 'path', knownOf(state.disks, 'freeBytes'));
  }

  #showUsage({ usage, origins, forge, stores }: MetricsState): void {
    const gauge = this.#gauge('softquota_usage_bytes');
    gauge.reset();
    for (const [index, subject] of leaves.entries()) {
      const [reported, read, others] = [origins.reported, origins.forge, origins.otherHosts].map(
        bytes => bytes[index] ?? 0,
      );
      const rest = (usage[index] ?? 0) - (reported ?? 0) - (read ?? 0) - (others ?? 0);
      gauge.set({ subject, source: 'walked' }, Math.max(0, rest));
      gauge.set({ subject, source: 'reported' }, reported ?? 0);
      if (forge !== null) gauge.set({ subject, source: 'forge' }, read ?? 0);
      if (stores.isSharedUp !== null) gauge.set({ subject, source: 'other_hosts' }, others ?? 0);
    }
  }

  #showNotices({ notices }: MetricsState): void {
    const gauge = this.#gauge('softquota_notices');
    const attempts = this.#counter('softquota_notice_attempts_total');
    gauge.reset();
    attempts.reset();
    for (const { name: place, pending, dead, sent, failed } of notices) {
      gauge.set({ place, state: 'waiting' }, pending);
      gauge.set({ place, state: 'dead' }, dead);
      attempts.inc({ place, result: 'sent' }, sent);
      attempts.inc({ place, result: 'failed' }, failed);
    }
  }

  /** Null or undefined: there is nothing to say, and so no line. */
  #set(name: MetricName, value: number | null | undefined): void {
    const gauge = this.#gauge(name);
    if (value === null || value === undefined) gauge.remove();
    else gauge.set(value);
  }

  #setEach(name: MetricName, label: string, values: readonly (readonly [string, number])[]): void {
    const gauge = this.#gauge(name);
    gauge.reset();
    for (const [key, value] of values) gauge.set({ [label]: key }, value);
  }

  #gauge(name: MetricName): Gauge {
    return mustHave(this.#gauges.get(name), name);
  }

  #counter(name: MetricName): Counter {
    return mustHave(this.#counters.get(name), name);
  }
}

function mustHave<Item>(item: Item | undefined, name: MetricName): Item {
  if (item === undefined) throw new TypeError(`${name} is a metric of another kind`);
  return item;
}

function namesOf(kind: 'counter' | 'gauge'): readonly MetricName[] {
  return metricNames.filter(name => metricSpecs[name].kind === kind);
}

function isMetricName(name: string): name is MetricName {
  return Object.hasOwn(metricSpecs, name);
}

const metricNames: readonly MetricName[] = Object.keys(metricSpecs).filter(isMetricName);

function knownOf(
  disks: MetricsState['disks'],
  key: 'sizeBytes' | 'freeBytes',
): readonly (readonly [string, number])[] {
  return disks.flatMap(disk => {
    const bytes = disk[key];
    return bytes === null ? [] : [[disk.path, bytes] as const];
  });
}
