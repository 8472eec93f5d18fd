/** docs/metrics.md, and the dashboard for Grafana in docs/metrics/. */

import { readFileSync } from 'node:fs';
import { metricSpecs } from '../../src/daemon/metrics/metrics.ts';

const begin = '<!-- metrics: written by npm run generate -->';
const end = '<!-- end of metrics -->';

/** docs/metrics.md with the table as it should be; all else stays. */
export function metricsReference(): string {
  const text = readFileSync(new URL('../../docs/metrics.md', import.meta.url), 'utf8');
  const [before, rest] = text.split(begin);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined)
    throw new Error(`docs/metrics.md lacks "${begin}" or "${end}"`);
  const rows = Object.entries(metricSpecs).map(
    ([name, { kind, help, labels }]) =>
      `| \`${name}\` | ${kind} | ${labels.map(label => `\`${label}\``).join(', ')} | ${help} |\n`,
  );
  return `${before}${begin}\n| metric | kind | labels | meaning |\n|---|---|---|---|\n${rows.join('')}${end}${after}`;
}

interface Panel {
  readonly title: string;
  /** Unit by Grafana's name. */
  readonly unit: string;
  /** Queries, by their legends. */
  readonly queries: Readonly<Record<string, string>>;
}

const panels: readonly Panel[] = [
  {
    title: 'Decisions per second',
    unit: 'ops',
    queries: { '{{result}}': 'sum by (result) (rate(softquota_decisions_total[$__rate_interval]))' },
  },
  {
    title: 'Time of a decision',
    unit: 's',
    queries: {
      median:
        'histogram_quantile(0.5, sum by (le) (rate(softquota_decision_duration_seconds_bucket[$__rate_interval])))',
      '99 %':
        'histogram_quantile(0.99, sum by (le) (rate(softquota_decision_duration_seconds_bucket[$__rate_interval])))',
    },
  },
  { title: 'Owners', unit: 'short', queries: { '{{state}}': 'sum by (state) (softquota_owners)' } },
  {
    title: 'Stored',
    unit: 'decbytes',
    queries: { '{{subject}}': 'max by (subject) (sum by (instance, subject) (softquota_usage_bytes)) > 0' },
  },
  {
    title: 'Where the figures come from',
    unit: 'decbytes',
    queries: { '{{source}}': 'sum by (source) (softquota_usage_bytes{source!="other_hosts"}) > 0' },
  },
  {
    title: 'Refusals in an hour',
    unit: 'short',
    queries: {
      '{{subject}}': 'sum by (subject) (increase(softquota_decisions_total{result="refused"}[1h]))',
    },
  },
  { title: 'Free disk space', unit: 'decbytes', queries: { '{{path}}': 'softquota_disk_free_bytes' } },
  {
    title: 'Garbage',
    unit: 'decbytes',
    queries: {
      unreachable: 'softquota_unreachable_bytes',
      'freed in a day': 'increase(softquota_reclaimed_bytes_total[1d])',
    },
  },
  {
    title: 'Sweeps',
    unit: 's',
    queries: {
      'last one took': 'softquota_sweep_duration_seconds',
      'ended before': 'time() - softquota_sweep_finished_timestamp_seconds',
    },
  },
  {
    title: 'What waits',
    unit: 'short',
    queries: {
      'walks, {{queue}}': 'softquota_waiting_walks',
      writes: 'softquota_waiting_writes',
      'notices to {{place}}': 'softquota_notices{state="waiting"}',
    },
  },
  {
    title: 'What works',
    unit: 'bool_yes_no',
    queries: {
      ready: 'softquota_ready',
      '{{store}} store': 'softquota_store_up',
      forge: 'softquota_forge_up',
      worker: 'softquota_worker_up',
    },
  },
  {
    title: 'The process',
    unit: 'decbytes',
    queries: { memory: 'process_resident_memory_bytes{job="softquota"}' },
  },
];

const datasource = { type: 'prometheus', uid: '$' + '{datasource}' } as const;
const [columns, width, height] = [2, 12, 8];

/** docs/metrics/dashboard.json, for Grafana's import. */
export function dashboard(): string {
  const shown = panels.map(({ title, unit, queries }, index) => ({
    id: index + 1,
    type: 'timeseries',
    title,
    datasource,
    gridPos: { x: (index % columns) * width, y: Math.floor(index / columns) * height, w: width, h: height },
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    targets: Object.entries(queries).map(([legendFormat, expr], at) => ({
      refId: String.fromCharCode('A'.charCodeAt(0) + at),
      datasource,
      expr,
      legendFormat,
    })),
  }));
  const board = {
    title: 'softquota',
    uid: 'softquota',
    schemaVersion: 39,
    tags: ['softquota'],
    time: { from: 'now-24h', to: 'now' },
    refresh: '1m',
    templating: { list: [{ name: 'datasource', type: 'datasource', query: 'prometheus', label: 'Source' }] },
    panels: shown,
  };
  return `${JSON.stringify(board, null, 2)}\n`;
}
