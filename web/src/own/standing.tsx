/**
 * Tells whether an owner may go on storing, by which limits, how near they are, and why something is refused.
 */

import { useEffect, useRef, useState } from 'preact/hooks';
import { leaves } from '../../../src/quota/index.ts';
import type { OwnReport } from '../../../src/wire/index.ts';
import type { Own } from '../api/own-queries.ts';
import { announce } from '../parts/announcer.tsx';
import { Bar, Legend } from '../parts/bar.tsx';
import { Size, Time } from '../parts/figures.tsx';
import { Panel } from '../parts/page.tsx';
import { Table } from '../parts/table.tsx';
import { Allowed, Billed, DecidedBy, limitColumns, limitInStored } from '../parts/verdict.tsx';
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
  return subjects.includes('size:all')
    ? 'Why you cannot add data'
    : `Why you cannot add ${listWords(subjects)}`;
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
        <Bar usage={usage} width={report.total} limit={limitInStored(report)} />
        <Legend usage={usage} />
        <Billed verdict={report} />
        <p class="quiet-text small">
          Measured <Time at={report.measured_at} />.
          {report.partial && ' Some data could not be read; its last known bytes count.'}
          {report.stale && ' Figures from other hosts or from reporting programs may be out of date.'}
        </p>
      </div>
    </Panel>
  );
}

function stateWords(rulings: readonly Ruling[], { mode, warn_at: warnAt }: OwnReport): string {
  const told = worst(rulings, warnAt);
  const concerned = rulings.filter(({ verdict }) => nearness(verdict, warnAt) === told);
  const isAll = concerned.flatMap(ruling => ruling.leaves).length === leaves.length;
  const what = isAll ? 'data' : concerned.map(({ subjects }) => listWords(subjects)).join(', ');
  switch (told) {
    case 'refused':
      return mode === 'report'
        ? `Adding ${what} would be refused if the limits were enforced. At present refusals are only recorded, and everything is allowed.`
        : `You cannot add ${what}. You can still delete data.`;
    case 'near':
      return `You can still push and upload, but there is little space left for ${what}.`;
    case 'fine':
      return 'You can push and upload.';
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
          caption="Deciding limits, by kind of data"
          rows={rulings}
          keyOf={({ leaves: kinds }) => kinds.join()}
          columns={[
            {
              key: 'kinds',
              title: 'Kind of data',
              cell: ({ subjects }) => capital(listWords(subjects)),
            },
            {
              key: 'may',
              title: 'Status',
              cell: ({ verdict }) => (
                <Allowed allowed={verdict.allowed} isNear={nearness(verdict, report.warn_at) === 'near'} />
              ),
            },
            ...limitColumns,
            {
              key: 'by',
              title: 'Decided by',
              isWide: true,
              cell: ({ verdict }) => <DecidedBy verdict={verdict} />,
            },
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
    announce(isRefused ? 'A limit is reached: you cannot add data.' : 'You can add data again.');
  }, [isRefused]);
}
