/**
 * Effect of another policy: owners who would be newly refused or allowed, and possible mistakes. Also the
 * dialog before a part of the policy is deleted.
 */

import { useQuery } from '@tanstack/preact-query';
import { useContext } from 'preact/hooks';
import type { Subject } from '../../../src/quota/index.ts';
import { counted, printable } from '../../../src/text.ts';
import type {
  ChangedOwner,
  DraftPolicy,
  LintFault,
  Simulation,
  WholePolicy,
} from '../../../src/wire/index.ts';
import { live } from '../api/client.ts';
import { overviewQuery } from '../api/queries.ts';
import { fewest, listWords } from '../own/verdicts.ts';
import { to } from '../place.ts';
import { draftOf, replacementOf } from '../policy/edit.ts';
import { save, trialQuery } from '../policy/trial.ts';
import { Confirm, type ConfirmProps } from './dialog.tsx';
import { Size, scopeWords, useWords } from './figures.tsx';
import { InNewTab, NameLink, Others } from './name.tsx';
import { Answered, type Asked } from './states.tsx';

interface EffectProps {
  readonly trial: AskedTrial;
  /** True if the simulation is about the present input. */
  readonly isCurrent: boolean;
}

interface AskedTrial extends Asked {
  readonly data: Simulation | undefined;
}

export function Effect({ trial, isCurrent }: EffectProps) {
  const overview = useQuery(overviewQuery);
  return (
    <section class="effect" aria-label="What would change" aria-live="polite" aria-busy={!isCurrent}>
      <h3>What would change</h3>
      {overview.data?.enabled === false && (
        <p class="quiet-text">Quotas are switched off. This shows the effect if they were on.</p>
      )}
      <InNewTab.Provider value={true}>
        <Answered query={trial} what="what would change" rows={2}>
          {simulation => <Changes simulation={simulation} />}
        </Answered>
      </InNewTab.Provider>
    </section>
  );
}

const nobody = { count: 0, first: [] };

export function Changes({ simulation }: { readonly simulation: Simulation }) {
  const { owners, refused, graced = nobody, allowed, not_asked: notAsked = [], lint } = simulation;
  return (
    <div class="stack">
      {refused.count === 0 && graced.count === 0 && allowed.count === 0 ? (
        <p>Nothing would change for any of {counted(owners, 'owner', 'owners')}.</p>
      ) : (
        <>
          <Changed what="newly refused" owners={refused} side="after" isFuture isBad />
          <Changed what="newly over a limit, in its grace" owners={graced} side="after" isFuture isBad />
          <Changed what="newly allowed" owners={allowed} side="after" isFuture />
        </>
      )}
      {notAsked.length > 0 && (
        <p>
          Limits {notAsked.map(per => scopeWords[per]).join(' and ')} change nothing about what is stored.
          They decide when a push or an upload comes.
        </p>
      )}
      {lint.length > 0 && (
        <div>
          <h3>Possible mistakes in this policy</h3>
          <PolicyFaults faults={lint} />
        </div>
      )}
    </div>
  );
}

interface ChangedProps {
  /** Effect on the owners: `newly refused`. */
  readonly what: string;
  readonly owners: Simulation['refused'];
  /** The decision that is shown: the one before, or the one after. */
  readonly side: 'before' | 'after';
  /** True for an effect that would happen, but has not yet. */
  readonly isFuture?: boolean;
  readonly isBad?: boolean;
}

function Changed({ what, owners: { count, first }, side, isFuture = false, isBad = false }: ChangedProps) {
  if (count === 0) return null;
  const verb = isFuture ? 'would be' : count === 1 ? 'is' : 'are';
  return (
    <div>
      <p>
        <span class={`mark ${isBad ? 'bad' : 'good'}`}>
          {counted(count, 'owner', 'owners')} {verb} {what}
        </span>
      </p>
      <ul class="changed">
        {first.map(owner => (
          <li key={owner.user}>
            <NameLink page="owner">{owner.user}</NameLink> <Size bytes={owner.total} />{' '}
            <span class="quiet-text">{changeWords(owner, side)}</span>
          </li>
        ))}
        <Others count={count - first.length} />
      </ul>
    </div>
  );
}

/**
 * Returns `private repositories: 1.2 GB of 1 GB`. Each use is named once with all of its kinds, in the fewest
 * words.
 */
function changeWords({ changes }: ChangedOwner, side: ChangedProps['side']): string {
  const kinds = new Map<string, Subject[]>();
  for (const { subject, unit, [side]: verdict } of changes) {
    const use = useWords(verdict);
    const told =
      unit === undefined || verdict.per === 'repository'
        ? use
        : `${printable(unit)}, while the owner has ${use}`;
    kinds.set(told, [...(kinds.get(told) ?? []), subject]);
  }
  return [...kinds].map(([use, subjects]) => `${listWords(fewest(subjects))}: ${use}`).join('; ');
}

/** Limit of the shown mistakes; the others appear when these are corrected. */
const mostShown = 100;

export function PolicyFaults({ faults }: { readonly faults: readonly LintFault[] }) {
  return (
    <ul class="faults">
      {faults.slice(0, mostShown).map(fault => (
        <li key={fault.message}>
          {printable(fault.message)} <Mend fault={fault} />
        </li>
      ))}
      <Others count={faults.length - mostShown} />
    </ul>
  );
}

function Mend({ fault }: { fault: LintFault }) {
  const target = useContext(InNewTab) ? '_blank' : undefined;
  const [href, words] = mendOf(fault);
  return (
    <a href={href} target={target}>
      {words}
    </a>
  );
}

function mendOf({ code, group, rule }: LintFault): readonly [href: string, words: string] {
  if (rule !== undefined) return [to('rule', rule), 'Open the rule'];
  if (code === 'missing_default_group') return [to('groups', undefined, { new: group }), 'Create it'];
  return group === undefined ? [to('rules'), 'See the rules'] : [to('group', group), 'Open the group'];
}

interface PolicyConfirmProps extends Omit<ConfirmProps, 'act' | 'isDangerous' | 'isReady'> {
  readonly policy: WholePolicy;
  readonly edited: WholePolicy;
}

export function PolicyConfirm({ policy, edited, children, ...props }: PolicyConfirmProps) {
  const trial = useQuery(trialQuery(draftOf(policy, edited), policy.version));
  return (
    <Confirm {...props} isDangerous isReady={trial.isSuccess} act={() => save(replacementOf(policy, edited))}>
      {children}
      <Effect trial={trial} isCurrent={!trial.isPending} />
    </Confirm>
  );
}

const withoutItEveryMs = 30_000;

interface WithoutItProps {
  /** The policy without the group or rule. */
  readonly draft: DraftPolicy;
  /** Version of the policy that the draft was made from; empty for a draft with `without_group`. */
  readonly version: string;
  /** Its name in sentences: `this group`. */
  readonly what: string;
}

export function WithoutIt({ draft, version, what }: WithoutItProps) {
  const overview = useQuery(overviewQuery);
  // A whole policy may be large, so it is sent only once. A group is sent as its name.
  const refetchInterval = draft.without_group === undefined ? false : live(withoutItEveryMs);
  const trial = useQuery({ ...trialQuery(draft, version), refetchInterval });
  if (overview.data?.enabled === false) return <p>Quotas are switched off, so nothing is refused.</p>;
  return (
    <Answered query={trial} what="the affected owners" rows={2}>
      {({ refused, allowed }) => (
        <div class="stack">
          {allowed.count === 0 && <p>Nobody is refused because of {what}.</p>}
          <Changed what={`refused because of ${what}`} owners={allowed} side="before" isBad />
          {refused.count === 0 && <p>Without {what}, nobody would be newly refused.</p>}
          <Changed what={`refused without ${what}`} owners={refused} side="after" isFuture />
        </div>
      )}
    </Answered>
  );
}
