/** Owners that a rule or a group bears on: decisions that would differ without it. */

import { useQuery } from '@tanstack/preact-query';
import type { WholePolicy } from '../../../src/wire/index.ts';
import { overviewQuery } from '../api/queries.ts';
import { draftOf } from '../policy/edit.ts';
import { trialQuery } from '../policy/trial.ts';
import { Changed } from './effect.tsx';
import { Answered } from './states.tsx';

interface WithoutItProps {
  readonly policy: WholePolicy;
  readonly without: WholePolicy;
  /** `this group`. */
  readonly what: string;
}

export function WithoutIt({ policy, without, what }: WithoutItProps) {
  const overview = useQuery(overviewQuery);
  const trial = useQuery(trialQuery(draftOf(policy, without)));
  if (overview.data?.enabled === false) return <p>Quotas are switched off, so nothing is refused.</p>;
  return (
    <Answered query={trial} what="the affected owners" rows={2}>
      {({ refused, allowed }) =>
        refused.count === 0 && allowed.count === 0 ? (
          <p>At present {what} makes no difference to any owner.</p>
        ) : (
          <div class="stack">
            <Changed what={`refused because of ${what}`} owners={allowed} side="before" isBad />
            <Changed what={`allowed because of ${what}`} owners={refused} side="before" />
          </div>
        )
      }
    </Answered>
  );
}
