/** The first page of administrators: how it stands with all owners together, and what should be looked at. */

import { useQuery } from '@tanstack/preact-query';
import type { Overview as Figures, Finding } from '../../../src/wire/index.ts';
import { findingsQuery, overviewQuery } from '../api/queries.ts';
import { Bar, Legend } from '../parts/bar.tsx';
import { Count, Size, Time } from '../parts/figures.tsx';
import { Page, Panel } from '../parts/page.tsx';
import { Answered } from '../parts/states.tsx';
import { usageIn } from '../usage.ts';

export function Overview() {
  const overview = useQuery(overviewQuery);
  const findings = useQuery(findingsQuery);
  return (
    <Page title="Overview">
      <Answered query={findings} what="what is wrong" rows={1}>
        {found => <Findings found={found} />}
      </Answered>
      <Answered query={overview} what="the overview" rows={8}>
        {figures => <Total figures={figures} />}
      </Answered>
    </Page>
  );
}

function Findings({ found }: { found: readonly Finding[] }) {
  if (found.length === 0) return null;
  return (
    <Panel title="To look at">
      <ul class="stack">
        {found.map(({ code, severity, message, mend }) => (
          <li key={`${code} ${message}`}>
            <span class={`mark ${severity === 'wrong' ? 'bad' : 'near'}`}>{severity}</span> {message}
            <br />
            <code class="quiet-text">{mend}</code>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function Total({ figures }: { figures: Figures }) {
  const usage = usageIn(figures.tree);
  return (
    <Panel title="Stored">
      <div class="stack">
        <p>
          <Size bytes={figures.total} /> of <Count>{figures.owners.total}</Count> owners, measured{' '}
          <Time at={figures.measured_at} />
        </p>
        <Bar usage={usage} width={figures.total} />
        <Legend usage={usage} />
      </div>
    </Panel>
  );
}
