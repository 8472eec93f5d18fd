/** The deciding limits of an owner, each with its kinds of data and the reasons. */

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Subject } from '../../../src/quota/index.ts';
import type { OwnReport } from '../../../src/wire/index.ts';
import { listWords, type Ruling, rulingsIn } from '../own/verdicts.ts';
import { capital } from './bar.tsx';
import { Panel } from './page.tsx';
import { Table } from './table.tsx';
import { Allowed, DecidedBy, limitColumns, whyColumn } from './verdict.tsx';

interface LimitsProps {
  readonly title: string;
  readonly decisions: OwnReport['decisions'];
  /** Renders the reasons of a decision. */
  readonly why: (subject: Subject) => ComponentChildren;
}

export function Limits({ title, decisions, why }: LimitsProps) {
  const [asked, setAsked] = useState<string | null>(null);
  const rulings = rulingsIn(decisions);
  const keyOf = ({ leaves }: Ruling) => leaves.join();
  const wordsOf = ({ subjects }: Ruling) => listWords(subjects);
  const open = rulings.find(ruling => keyOf(ruling) === asked);
  return (
    <Panel title={title}>
      <Table<Ruling>
        caption="Deciding limits, by kind of data"
        rows={rulings}
        keyOf={keyOf}
        columns={[
          { title: 'Kind of data', cell: ruling => capital(wordsOf(ruling)) },
          { title: 'State', cell: ({ verdict }) => <Allowed verdict={verdict} /> },
          ...limitColumns,
          {
            title: 'Decided by',
            isWide: true,
            cell: ({ verdict }) => <DecidedBy verdict={verdict} />,
          },
          whyColumn({ wordsOf, keyOf, asked, onAsk: setAsked }),
        ]}
      />
      {open !== undefined && (
        <section class="effect" aria-label={`Why: ${wordsOf(open)}`} aria-live="polite">
          {why(open.leaves[0] ?? 'size:all')}
        </section>
      )}
    </Panel>
  );
}
