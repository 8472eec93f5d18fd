/** Scans: what is known of them, and starting one. */

import { queryOptions } from '@tanstack/preact-query';
import type { ScanReport } from '../../../src/wire/index.ts';
import { ask } from './ask.ts';
import { live, refresh } from './client.ts';

const path = ['admin', 'quota', 'scans'] as const;

/** People watch a scan go on. */
const everyMs = 1000;

/** Newest first. */
export const scansQuery = queryOptions({
  queryKey: ['scans'],
  queryFn: ({ signal }) => ask<readonly ScanReport[]>(path, { signal }),
  refetchInterval: live(everyMs),
});

export interface ScanOrder {
  readonly kind: ScanReport['kind'];
  /** Only theirs; all without it. */
  readonly owners?: readonly string[];
}

export async function startScan(order: ScanOrder): Promise<ScanReport> {
  const scan = await ask<ScanReport>(path, { method: 'POST', body: order });
  await refresh();
  return scan;
}
