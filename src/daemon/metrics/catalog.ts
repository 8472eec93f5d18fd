/** The metrics by their names: what each says, and its labels. docs/metrics.md has them from here. */

interface MetricSpec {
  readonly kind: 'counter' | 'gauge' | 'histogram';
  /** One sentence without its full stop. */
  readonly help: string;
  readonly labels: readonly string[];
}

function spec(kind: MetricSpec['kind'], help: string, ...labels: readonly string[]): MetricSpec {
  return { kind, help, labels };
}

/** The upper bounds of the buckets of a decision's time, in seconds. */
export const decisionBuckets: readonly number[] = [
  0.000_01, 0.000_03, 0.000_1, 0.000_3, 0.001, 0.003, 0.01, 0.1, 1,
];

export const metricSpecs = {
  softquota_build_info: spec('gauge', 'Always 1; the label has the version', 'version'),
  softquota_ready: spec('gauge', '1 while /readyz answers that decisions are reliable, else 0'),
  softquota_enforcing: spec('gauge', '1 where quotas refuse; 0 where they are off or only reported'),
  softquota_decisions_total: spec(
    'counter',
    'Decisions since the start; result is allowed, refused or would_refuse, mode is enforce, report or off',
    'result',
    'subject',
    'mode',
  ),
  softquota_decision_duration_seconds: spec(
    'histogram',
    'The time from a check that is read to its answer, without looking a new path up on the disk',
  ),
  softquota_owners: spec('gauge', 'Owners by their state: over, grace, near or ok', 'state'),
  softquota_promised_bytes: spec('gauge', 'The sum of the limits that owners have for everything'),
  softquota_unlimited_owners: spec('gauge', 'Owners without a limit for everything'),
  softquota_usage_bytes: spec(
    'gauge',
    'Stored bytes of all owners; source is walked (found on a disk), reported (by programs), forge (its database) or ' +
      'other_hosts',
    'subject',
    'source',
  ),
  softquota_source_bytes: spec(
    'gauge',
    'Those of them that were reported as a whole set, by its name; forge is the database of the forge',
    'source',
  ),
  softquota_unowned_bytes: spec('gauge', 'Stored bytes that belong to nobody, by reason', 'reason'),
  softquota_units: spec('gauge', 'Units that are known on this host'),
  softquota_sweep_duration_seconds: spec('gauge', 'The time that the last finished sweep took'),
  softquota_sweep_finished_timestamp_seconds: spec('gauge', 'When the last sweep finished; absent before'),
  softquota_sweep_failed: spec('gauge', '1 where the last sweep failed, else 0'),
  softquota_sweep_unread_places: spec('gauge', 'Places that the last sweep could not read'),
  softquota_drift_bytes: spec(
    'gauge',
    'By how much the known figures were wrong at the last verify; absent before one',
  ),
  softquota_drift_units: spec('gauge', 'How many units had a wrong figure at the last verify'),
  softquota_quarantine_bytes: spec(
    'gauge',
    'Bytes in quarantines that belong to no known push, such as those of uploads that were broken off',
  ),
  softquota_quarantine_oldest_seconds: spec(
    'gauge',
    'The age of the oldest of them; absent where there is none',
  ),
  softquota_hanging_disks: spec('gauge', 'File systems that do not answer'),
  softquota_waiting_walks: spec(
    'gauge',
    'Units that wait to be walked; queue is soon (after a push) or sweep',
    'queue',
  ),
  softquota_waiting_writes: spec('gauge', 'Records that wait to be written into the store'),
  softquota_store_up: spec(
    'gauge',
    '1 while the store can be used, else 0; store is local or shared (Redis)',
    'store',
  ),
  softquota_forge_up: spec('gauge', "1 while the forge's database can be read, else 0"),
  softquota_forge_read_timestamp_seconds: spec('gauge', "When the forge's database was read last"),
  softquota_worker_up: spec('gauge', '1 while the worker reports, else 0; absent where none ever did'),
  softquota_unreachable_bytes: spec(
    'gauge',
    'Bytes in repositories that no ref reaches, as far as the worker measured them',
  ),
  softquota_reclaimed_bytes_total: spec('counter', 'Bytes that collections of garbage freed since the start'),
  softquota_collections_total: spec(
    'counter',
    'Collections of garbage since the start; result is done or failed',
    'result',
  ),
  softquota_notices: spec(
    'gauge',
    'Notices by place (a webhook, or mail); state is waiting (to be delivered) or dead (given up)',
    'place',
    'state',
  ),
  softquota_notice_attempts_total: spec(
    'counter',
    'Attempts to deliver a notice since the start; result is sent or failed',
    'place',
    'result',
  ),
  softquota_disk_size_bytes: spec('gauge', 'The size of a file system that has storage', 'path'),
  softquota_disk_free_bytes: spec('gauge', 'Its free bytes', 'path'),
} as const satisfies Readonly<Record<string, MetricSpec>>;

export type MetricName = keyof typeof metricSpecs;
