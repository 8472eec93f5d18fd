/** Why something is decided as it is, in plain words, and in every detail. */

import { useQuery } from '@tanstack/preact-query';
import { isSubject, type Subject } from '../../../src/quota/index.ts';
import { formatBytes, formatUse } from '../../../src/text/index.ts';
import type { Explanation } from '../../../src/wire/index.ts';
import { type Own, ownExplanationQuery } from '../api/own-queries.ts';
import { Name } from '../parts/name.tsx';
import { Reasoning } from '../parts/reasoning.tsx';
import { Answered } from '../parts/states.tsx';
import { Added } from '../parts/verdict.tsx';
import { listWords } from './verdicts.ts';

export function Why({ own, subject }: { readonly own: Own; readonly subject: Subject }) {
  const explanation = useQuery(ownExplanationQuery(own, subject));
  return (
    <Answered query={explanation} what="why" rows={3}>
      {explained => (
        <div class="stack">
          <p>
            <Reason explained={explained} />
          </p>
          <details>
            <summary>All groups and rules for this decision</summary>
            <Reasoning explanation={explained} hasLinks={false} />
          </details>
        </div>
      )}
    </Answered>
  );
}

function Reason({ explained: { subject, decision, settings } }: { explained: Explanation }) {
  if (decision.by === 'disabled') return <>Quotas are switched off, so everything is allowed.</>;
  const { used, limit, allowed, garbage } = decision;
  if (used === null || limit === null) {
    return <>No rule covers {listWords([subject])}, and data that no rule covers is refused here.</>;
  }
  const what = counted(decision.subjects);
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
        : `. To ${allowed ? 'be below the limit' : 'add data'} again, ${whatToFree(used - limit, settings)}.`}
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

/** `over`: by how many bytes usage is over the limit. */
function whatToFree(over: number, { refuse_when: refuseWhen }: Explanation['settings']): string {
  if (over > 0) return `free ${refuseWhen === 'reached' ? 'more than' : 'at least'} ${formatBytes(over)}`;
  return 'free some space';
}

/** Names the kinds of data that a rule counts. */
function counted(subjects: readonly string[]): string {
  const known = subjects.filter(isSubject);
  return known.includes('size:all') ? 'everything together' : listWords(known);
}
