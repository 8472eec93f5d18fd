/** Scans as they go on, told by the daemon as they change. */

import { useEffect, useState } from 'preact/hooks';
import type { ScanReport } from '../../../src/wire/index.ts';
import { apiUrl, ask } from './ask.ts';
import { reachability, signedOut } from './connection.ts';
import { useWatched } from './watched.ts';

/**
 * Newest first; null before the first is told. A scan that the daemon has forgotten stays until the page is
 * left.
 */
export function useScans(): readonly ScanReport[] | null {
  const [scans, setScans] = useState<ReadonlyMap<number, ScanReport> | null>(null);
  const isAway = useWatched(reachability).is === 'away';
  const isOut = useWatched(signedOut);
  useEffect(() => {
    if (isAway || isOut) return;
    const source = new EventSource(apiUrl(['admin', 'quota', 'scans', 'events']), { withCredentials: true });
    source.addEventListener('open', () => setScans(known => known ?? new Map()));
    source.addEventListener('scan', ({ data }) => {
      const scan: ScanReport = JSON.parse(data);
      setScans(known => new Map(known).set(scan.id, scan));
    });
    // Why it broke off is not told here: any other question learns it, and this begins again with the answer.
    source.addEventListener('error', () => void ask(['session']).catch(() => {}));
    return () => source.close();
  }, [isAway, isOut]);
  return scans === null ? null : [...scans.values()].sort((a, b) => b.id - a.id);
}

export interface ScanOrder {
  readonly kind: ScanReport['kind'];
  /** Only theirs; all without it. */
  readonly owners?: readonly string[];
}

export function startScan(order: ScanOrder): Promise<ScanReport> {
  return ask<ScanReport>(['admin', 'quota', 'scans'], { method: 'POST', body: order });
}
