/** The room that an owner has now: the decision about each kind of data, and its reasoning. */

import { useQuery } from '@tanstack/preact-query';
import { useState } from 'preact/hooks';
import { leaves } from '../../../src/quota/index.ts';
import type { OwnerReport } from '../../../src/wire/index.ts';
import { explanationQuery } from '../api/queries.ts';
import { Kind } from '../parts/bar.tsx';
import { Panel } from '../parts/page.tsx';
import { Reasoning } from '../parts/reasoning.tsx';
import { Answered } from '../parts/states.tsx';
import { Table } from '../parts/table.tsx';
import { Allowed, DecidedBy, limitColumns, whyColumn } from '../parts/verdict.tsx';

const leafOf = ({ leaf }: { readonly leaf: string }) => leaf;

export function OwnerVerdicts({ report: { name, decisions } }: { report: OwnerReport }) {
  const [asked, setAsked] = useState<string | null>(null);
  const rows = leaves.flatMap(leaf => {
    const verdict = decisions[leaf];
    return verdict === undefined ? [] : [{ leaf, verdict }];
  });
  return (
    <Panel title="What can be added now">
      <Table
        caption="Decisions by kind of data"
        rows={rows}
        keyOf={leafOf}
        columns={[
          { title: 'Kind of data', cell: ({ leaf }) => <Kind leaf={leaf} /> },
          { title: 'State', cell: ({ verdict }) => <Allowed verdict={verdict} /> },
          ...limitColumns,
          {
            title: 'Decided by',
            isWide: true,
            cell: ({ verdict }) => <DecidedBy verdict={verdict} hasLinks />,
          },
          whyColumn({ wordsOf: leafOf, keyOf: leafOf, asked, onAsk: setAsked }),
        ]}
      />
      {asked !== null && <Why owner={name} subject={asked} />}
    </Panel>
  );
}

function Why({ owner, subject }: { owner: string; subject: string }) {
  const explanation = useQuery(explanationQuery(owner, subject));
  return (
    <section class="effect" aria-label={`Why: ${subject}`} aria-live="polite">
      <Answered query={explanation} what="the reasoning" rows={3}>
        {whole => <Reasoning explanation={whole} />}
      </Answered>
    </section>
  );
}
