/**
 * Tells whether an owner may go on storing, by which limits, how near they are, and why something is refused.
 */

import { useEffect, useRef, useState } from 'preact/hooks';
import { leaves } from '../../../src/quota/index.ts';
import type { OwnReport } from '../../../src/wire/index.ts';
import type { Own } from '../api/own-queries.ts';
import { announce } from '../parts/announcer.tsx';
import { Bar, Legend } from '../parts/bar.tsx';
import { Percent, Size, Time, Use } from '../parts/figures.tsx';
import { Panel } from '../parts/page.tsx';
import { Table } from '../parts/table.tsx';
import { Allowed, DecidedBy } from '../parts/verdict.tsx';
import { usageIn } from '../usage.ts';
import { listWords, nearness, type Ruling, rulingsIn, worst } from './verdicts.ts';
import { Why } from './why.tsx';

export interface StandingProps {
  readonly own: Own;
  readonly report: OwnReport;
}

export function Standing({ own, report }: StandingProps) {
  const rulings = rulingsIn(report.decisions);
  const refused = rulings.filter(({ verdict }) => !verdict.allowed);
  useToldAloud(refused.length > 0);
  return (
    <>
      <Now rulings={rulings} report={report} />
      {refused.map(ruling => (
        <Panel key={ruling.leaves.join()} title={whyTitle(ruling)}>
          <Why own={own} subject={ruling.leaves[0] ?? 'size:all'} />
        </Panel>
      ))}
      <Limits own={own} rulings={rulings} report={report} />
    </>
  );
}

function whyTitle({ subjects }: Ruling): string {
  return subjects.includes('size:all') ? 'Why nothing may grow' : `Why ${listWords(subjects)} may not grow`;
}

interface RulingsProps {
  readonly rulings: readonly Ruling[];
  readonly report: OwnReport;
}

function Now({ rulings, report }: RulingsProps) {
  const state = worst(rulings, report.warn_at);
  const usage = usageIn(report.tree);
  return (
    <Panel title="Stored now">
      <div class="stack">
        <p class="row">
          <strong class="figure">
            <Size bytes={report.total} />
          </strong>
          <Allowed allowed={state !== 'refused'} isNear={state === 'near'} />
          <span>{stateWords(rulings, report)}</span>
        </p>
        <Bar usage={usage} width={report.total} limit={report.limit ?? undefined} />
        <Legend usage={usage} />
        <p class="quiet-text small">
          Measured <Time at={report.measured_at} />.
          {report.partial && ' Some of it could not be read, and is what was known before.'}
          {report.stale && ' What other hosts measured, or programs reported, may be out of date.'}
        </p>
      </div>
    </Panel>
  );
}

function stateWords(rulings: readonly Ruling[], { mode, warn_at: warnAt }: OwnReport): string {
  const told = worst(rulings, warnAt);
  const concerned = rulings.filter(({ verdict }) => nearness(verdict, warnAt) === told);
  const isAll = concerned.flatMap(ruling => ruling.leaves).length === leaves.length;
  const what = isAll ? '' : `: ${concerned.map(({ subjects }) => listWords(subjects)).join(', ')}`;
  switch (told) {
    case 'refused':
      return mode === 'report'
        ? `What adds to it would be refused${what}. At present refusals are only noted, and everything is let through.`
        : `What adds to it is refused${what}. What deletes is not.`;
    case 'near':
      return `Pushes and uploads are still let through, but there is little room left${what}.`;
    case 'fine':
      return 'Pushes and uploads are let through.';
  }
}

/** Each limit once, with the kinds of data that it decides about. */
function Limits({ own, rulings, report }: RulingsProps & { own: Own }) {
  const [asked, setAsked] = useState<string | null>(null);
  const open = rulings.find(({ leaves: kinds }) => kinds.join() === asked);
  return (
    <Panel title="Limits">
      <div class="stack">
        <Table<Ruling>
          caption="The limits that decide, by kind of data"
          rows={rulings}
          keyOf={({ leaves: kinds }) => kinds.join()}
          columns={[
            {
              key: 'kinds',
              title: 'Decides about',
              cell: ({ subjects }) => capital(listWords(subjects)),
            },
            {
              key: 'may',
              title: 'May grow',
              cell: ({ verdict }) => (
                <Allowed allowed={verdict.allowed} isNear={nearness(verdict, report.warn_at) === 'near'} />
              ),
            },
            {
              key: 'use',
              title: 'Stored',
              isNumber: true,
              isWide: true,
              cell: ({ verdict }) => <Use {...verdict} />,
            },
            { key: 'of', title: 'Full', isNumber: true, cell: ({ verdict }) => <Percent {...verdict} /> },
            { key: 'by', title: 'By', isWide: true, cell: ({ verdict }) => <DecidedBy verdict={verdict} /> },
            {
              key: 'why',
              title: 'Why',
              cell: ({ leaves: kinds, subjects }) => (
                <button
                  type="button"
                  class="quiet"
                  aria-expanded={asked === kinds.join()}
                  onClick={() => setAsked(asked === kinds.join() ? null : kinds.join())}
                >
                  Why<span class="visually-hidden">: {listWords(subjects)}</span>
                </button>
              ),
            },
          ]}
        />
        {open !== undefined && (
          <section class="effect" aria-label={`Why: ${listWords(open.subjects)}`} aria-live="polite">
            <Why own={own} subject={open.leaves[0] ?? 'size:all'} />
          </section>
        )}
      </div>
    </Panel>
  );
}

function capital(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** The page may be open when it changes; not as it is opened. */
function useToldAloud(isRefused: boolean): void {
  const before = useRef(isRefused);
  useEffect(() => {
    if (before.current === isRefused) return;
    before.current = isRefused;
    announce(isRefused ? 'A limit is reached: what adds to it is refused.' : 'Nothing is refused any more.');
  }, [isRefused]);
}
