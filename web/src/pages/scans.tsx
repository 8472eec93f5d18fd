/** Page of scans: starting them, and following their progress. */

import { useQuery } from '@tanstack/preact-query';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ScanReport } from '../../../src/wire/index.ts';
import { scansQuery, startScan } from '../api/queries.ts';
import { announce } from '../parts/announcer.tsx';
import { useAction } from '../parts/button.tsx';
import { Choice } from '../parts/field.tsx';
import { OwnerPicker } from '../parts/owner-picker.tsx';
import { Page, Panel } from '../parts/page.tsx';
import { ScanProgress, ScanState, ScanTimes } from '../parts/scan-progress.tsx';
import { Answered, Fault } from '../parts/states.tsx';
import { Table } from '../parts/table.tsx';

const kinds = {
  sweep: 'changes only',
  verify: 'everything (verify)',
} as const satisfies Readonly<Record<ScanReport['kind'], string>>;

export function Scans() {
  const scans = useQuery(scansQuery);
  const [ordered, setOrdered] = useState<ReadonlySet<number>>(new Set());
  useEndings(scans.data, ordered);
  return (
    <Page title="Scans" help="scans">
      <Start onStarted={id => setOrdered(new Set([...ordered, id]))} />
      <Answered query={scans} what="the scans">
        {known => <List scans={known} />}
      </Answered>
    </Page>
  );
}

function Start({ onStarted }: { onStarted: (id: number) => void }) {
  const [kind, setKind] = useState<ScanReport['kind']>('sweep');
  const [owners, setOwners] = useState<readonly string[]>([]);
  const { start, isBusy, failure } = useAction(async () => {
    const { id } = await startScan({ kind, ...(owners.length === 0 ? {} : { owners }) });
    announce('The scan is requested.');
    onStarted(id);
  });
  return (
    <Panel title="Start a scan">
      <form class="stack" onSubmit={start}>
        <Choice
          label="What to measure"
          value={kind}
          onChoice={setKind}
          options={[
            ['sweep', kinds.sweep],
            ['verify', kinds.verify],
          ]}
        />
        <OwnerPicker
          label="Owners to scan"
          none="All owners, unless you add some."
          chosen={owners}
          onChange={setOwners}
        />
        {failure !== null && <Fault of={failure} />}
        <div class="actions">
          <button type="submit" class="primary" disabled={isBusy}>
            Start scan
          </button>
        </div>
      </form>
    </Panel>
  );
}

function List({ scans }: { scans: readonly ScanReport[] }) {
  return (
    <Table
      caption="Scans, newest first"
      empty="No scans since the daemon started. Start one above, or wait for the schedule."
      rows={scans}
      keyOf={({ id }) => id}
      columns={[
        { title: 'Measured', cell: ({ kind }) => kinds[kind] },
        { title: 'State', cell: ({ state }) => <ScanState state={state} /> },
        { title: 'Start and duration', isWide: true, cell: scan => <ScanTimes scan={scan} /> },
        { title: 'Found', cell: scan => <ScanProgress scan={scan} /> },
      ]}
    />
  );
}

/**
 * Announces once the end of each scan that was seen running or was started here. A short scan may end before
 * it is seen.
 */
function useEndings(scans: readonly ScanReport[] | undefined, ordered: ReadonlySet<number>): void {
  const underWay = useRef(new Set<number>());
  const told = useRef(new Set<number>());
  useEffect(() => {
    for (const { id, state } of scans ?? []) {
      if (state === 'running' || state === 'waiting') underWay.current.add(id);
      else if ((underWay.current.has(id) || ordered.has(id)) && !told.current.has(id)) {
        told.current.add(id);
        announce(`The scan is ${state}.`);
      }
    }
  }, [scans, ordered]);
}
