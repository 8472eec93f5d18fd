/** Shows an owner's state, the limits and how near they are, and the reasons of refusals. */

import { useEffect, useRef } from 'preact/hooks';
import { isSubject, leaves, type Subject } from '../../../src/quota/index.ts';
import { formatBytes, formatMoment, formatUse, printable } from '../../../src/text.ts';
import type { Explanation, OwnReport } from '../../../src/wire/index.ts';
import { type Own, ownExplanationQuery } from '../api/own-queries.ts';
import { announce } from '../parts/announcer.tsx';
import { Limits } from '../parts/limits.tsx';
import { Name } from '../parts/name.tsx';
import { Panel } from '../parts/page.tsx';
import { Reasoning } from '../parts/reasoning.tsx';
import { Query } from '../parts/states.tsx';
import { Stored } from '../parts/stored.tsx';
import { Added } from '../parts/verdict.tsx';
import { listWords, type Ruling, rulingsIn, worstState } from './verdicts.ts';

export function Standing({ own, report }: { readonly own: Own; readonly report: OwnReport }) {
  const rulings = rulingsIn(report.decisions);
  const refused = rulings.filter(({ verdict }) => !verdict.allowed);
  useToldAloud(refused.length > 0);
  return (
    <>
      <Stored
        title="Stored"
        report={report}
        state={worstState(rulings)}
        words={stateWords(rulings, report)}
      />
      {refused.map(ruling => (
        <Panel key={ruling.leaves.join()} title={whyTitle(ruling)}>
          <Why own={own} subject={ruling.leaves[0] ?? 'size:all'} />
        </Panel>
      ))}
      <Limits
        title="Limits"
        decisions={report.decisions}
        why={subject => <Why own={own} subject={subject} />}
      />
    </>
  );
}

function whyTitle({ subjects }: Ruling): string {
  return subjects.includes('size:all')
    ? 'Why you cannot add data'
    : `Why you cannot add ${listWords(subjects)}`;
}

function stateWords(rulings: readonly Ruling[], { mode }: OwnReport): string {
  const told = worstState(rulings);
  const of = (concerned: readonly Ruling[]) => {
    const isAll = concerned.flatMap(ruling => ruling.leaves).length === leaves.length;
    return isAll ? 'data' : concerned.map(({ subjects }) => listWords(subjects)).join(', ');
  };
  const what = of(rulings.filter(({ verdict }) => verdict.state === told));
  const refused = rulings.filter(({ verdict }) => !verdict.allowed);
  switch (told) {
    case 'over':
      return mode === 'report'
        ? `Adding ${what} would be refused if the limits were enforced. At present refusals are only recorded, and everything is allowed.`
        : `You cannot add ${what}. You can still delete data.`;
    case 'grace':
      return `You are over the limit for ${what}. You can still push and upload until refusals begin: ${beginWords(rulings)}`;
    case 'near': {
      const warned = rulings.flatMap(({ verdict }) => verdict.warned ?? []).find(({ used }) => used !== 0);
      if (warned !== undefined) return warnedWords(warned);
      return `You can still push and upload, but there is little space left for ${what}.`;
    }
    case 'ok':
      if (refused.length === 0) return 'You can push and upload.';
      return refused.length === rulings.length
        ? 'Your limits allow you to store nothing.'
        : `You can push and upload, but not ${of(refused)}.`;
  }
}

function warnedWords(warned: NonNullable<Ruling['verdict']['warned']>): string {
  const { used, limit, group, rule, per } = warned;
  const use = formatUse(used ?? 0, limit ?? 0);
  const who = per === 'group' ? `all members of ${printable(group ?? '')} together are` : 'you are';
  return `You can still push and upload, but ${who} over the limit of ${printable(rule ?? '')}, which only warns: ${use.used} of ${use.limit} (${use.percent}).`;
}

/** Describes the first grace to end: its end, and the usage at which refusals begin anyway. */
function beginWords(rulings: readonly Ruling[]): string {
  const graces = rulings.flatMap(({ verdict }) => (verdict.state === 'grace' ? (verdict.grace ?? []) : []));
  const [first] = graces.toSorted((a, b) => Date.parse(a.until) - Date.parse(b.until));
  return first === undefined
    ? 'soon.'
    : `on ${formatMoment(Date.parse(first.until))}, or at ${formatBytes(first.below)}.`;
}

/** Announces a change of the state while the page is open, but not the state at the beginning. */
function useToldAloud(isRefused: boolean): void {
  const before = useRef(isRefused);
  useEffect(() => {
    if (before.current === isRefused) return;
    before.current = isRefused;
    announce(isRefused ? 'A limit is reached: you cannot add data.' : 'You can add data again.');
  }, [isRefused]);
}

function Why({ own, subject }: { readonly own: Own; readonly subject: Subject }) {
  return (
    <Query of={ownExplanationQuery(own, subject)} what="why" rows={3}>
      {explained => (
        <div class="stack">
          <p>
            <Reason explained={explained} />
          </p>
          <details>
            <summary>All groups and rules for this decision</summary>
            <Reasoning explanation={explained} />
          </details>
        </div>
      )}
    </Query>
  );
}

function Reason({ explained: { subject, decision, settings } }: { explained: Explanation }) {
  if (decision.by === 'disabled') return <>Quotas are switched off, so everything is allowed.</>;
  const { used, limit, allowed, garbage } = decision;
  if (used === null || limit === null) {
    return <>No rule covers {listWords([subject])}, and data that no rule covers is refused here.</>;
  }
  const isShared = decision.per === 'group';
  const what = `${counted(decision.subjects)}${isShared ? ' of all members of the group' : ''}`;
  const rule = <ByRule decision={decision} />;
  if (limit === -1) {
    return (
      <>
        {rule} sets no limit for {what}.
      </>
    );
  }
  if (limit === 0) {
    return (
      <>
        {rule} allows no {what}: the limit is 0.
      </>
    );
  }
  const words = formatUse(used, limit);
  const stored = `${words.limit} for ${what}. ${words.used} are ${garbage === undefined ? 'stored' : 'counted'} (${words.percent})`;
  return (
    <>
      {rule} allows {stored}
      {allowed && decision.grace === undefined
        ? '.'
        : `. To ${allowed ? 'be below the limit' : 'add data'} again, ${isShared ? 'the members together have to ' : ''}${whatToFree(used - limit, settings)}.`}
      <Added verdict={decision} />
    </>
  );
}

function ByRule({ decision: { group, rule } }: Pick<Explanation, 'decision'>) {
  if (group === null || rule === null) return <>The limit for everybody</>;
  return (
    <>
      Rule “<Name>{rule}</Name>” of group “<Name>{group}</Name>”
    </>
  );
}

/** Says how much to free. `over` is the number of bytes over the limit. */
function whatToFree(over: number, { refuse_when: refuseWhen }: Explanation['settings']): string {
  if (over > 0) return `free ${refuseWhen === 'reached' ? 'more than' : 'at least'} ${formatBytes(over)}`;
  return 'free some space';
}

/** Names the kinds of data that a rule counts. */
function counted(subjects: readonly string[]): string {
  const known = subjects.filter(isSubject);
  return known.includes('size:all') ? 'everything together' : listWords(known);
}
