/**
 * Metrics for Prometheus: counts decisions and collections, and shows the state of the daemon when it is asked.
 *
 * Nothing is counted, and no label comes up, that anybody but an administrator could make many of.
 */

export { type MetricSpec, metricSpecs } from './catalog.ts';
export { Metrics, type MetricsState, type MetricsText } from './metrics.ts';
