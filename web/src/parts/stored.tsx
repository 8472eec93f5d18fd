/** Panel of the bytes that an owner stores, by kind, with the limit for all data. */

import type { ComponentChildren } from 'preact';
import type { OwnerReport, OwnerState } from '../../../src/wire/index.ts';
import { usageIn } from '../usage.ts';
import { Bar, Legend } from './bar.tsx';
import { Size, Time } from './figures.tsx';
import { Panel } from './page.tsx';
import { Billed, limitInStored, State } from './verdict.tsx';

interface StoredProps {
  readonly title: string;
  readonly report: Pick<OwnerReport, 'decisions' | 'measured_at' | 'partial' | 'stale' | 'total' | 'tree'>;
  readonly state: OwnerState;
  /** Text beside the state. */
  readonly words?: string;
  /** Content above the bar. */
  readonly children?: ComponentChildren;
}

export function Stored({ title, report, state, words, children }: StoredProps) {
  const { tree, total, measured_at: measuredAt, partial, stale } = report;
  const usage = usageIn(tree);
  const whole = report.decisions['size:all'];
  return (
    <Panel title={title}>
      <p class="row">
        <strong class="figure">
          <Size bytes={total} />
        </strong>
        <State state={state} />
        {words !== undefined && <span>{words}</span>}
      </p>
      {children}
      <Bar usage={usage} width={total} limit={whole === undefined ? -1 : limitInStored(whole)} />
      <Legend usage={usage} />
      {whole !== undefined && <Billed verdict={whole} />}
      <p class="quiet-text small">
        Oldest figure: <Time at={measuredAt} />.
        {partial && ' Some data could not be read; its last known bytes count.'}
        {stale &&
          ' Figures of other hosts, of reporting programs or of storage that app.ini lacks may be out of date.'}
      </p>
    </Panel>
  );
}
