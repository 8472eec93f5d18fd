/**
 * Counts what happens, and gives it with the state of now in the text form of Prometheus.
 *
 * Nothing is counted, and no label comes up, that anybody but an administrator could make many of.
 */

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { QuotaSettings, Subject } from '../../quota/index.ts';
import {
  allMetrics,
  daemonState,
  decisionBuckets,
  type MeteredParts,
  type MetricName,
  metricSpecs,
} from './catalog.ts';

/** The text of all metrics, and its type. */
interface MetricsText {
  readonly contentType: string;
  readonly text: string;
}

/** Counts of now, which are called like counters; promtool complains of them. */
const misnamed = ['active_handles', 'active_requests', 'active_resources'].map(
  name => `nodejs_${name}_total`,
);

const durationName = 'softquota_decision_duration_seconds';

type DecisionResult = 'allowed' | 'refused' | 'would_refuse';

export class Metrics {
  readonly #parts: MeteredParts;
  readonly #registry = new Registry();
  readonly #shown = new Map<MetricName, Gauge | Counter>();
  readonly #durations: Histogram;
  /** By result, subject and mode; a check only adds one to a number. */
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
    this.#shown.get('softquota_reclaimed_bytes_total')?.inc(Math.max(0, freedBytes));
    this.#shown.get('softquota_collections_total')?.inc({ result: hasFailed ? 'failed' : 'done' });
  }

  /** Makes the text. Callers that come while it is being made get that one. */
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
      // One without labels is 0 then, and not absent.
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
