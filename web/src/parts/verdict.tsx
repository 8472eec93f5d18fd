/** Shows if an action may start, and which rule decides. */

import type { Verdict as Decided, OwnerState } from '../../../src/wire/index.ts';
import { Fullness } from './bar.tsx';
import { Size, Time, Use } from './figures.tsx';
import { Name, NameLink } from './name.tsx';
import type { Column } from './table.tsx';

/** State of an owner, which is that of the kind of data in the worst state. */
export function State({ state }: { readonly state: OwnerState }) {
  if (state === 'over') return <span class="mark bad">✕ over the limit</span>;
  if (state === 'grace') return <span class="mark near">! over the limit, in its grace</span>;
  return state === 'near' ? (
    <span class="mark near">! near the limit</span>
  ) : (
    <span class="mark good">✓ OK</span>
  );
}

interface AllowedProps {
  readonly verdict: Pick<Decided, 'allowed' | 'grace'> & { readonly state?: OwnerState };
}

export function Allowed({ verdict: { allowed, grace, state } }: AllowedProps) {
  if (!allowed) return <span class="mark bad">✕ refused</span>;
  if (state === 'grace' || grace !== undefined) return <span class="mark near">! over, in its grace</span>;
  return state === 'near' ? (
    <span class="mark near">! near the limit</span>
  ) : (
    <span class="mark good">✓ allowed</span>
  );
}

interface DecidedByProps {
  readonly verdict: Pick<Decided, 'group' | 'rule' | 'used'>;
}

interface VerdictRow {
  readonly verdict: Decided;
}

/** Columns of a table of decisions: the usage, and how full the deciding limit is. */
export const limitColumns = [
  {
    title: 'Used',
    isNumber: true,
    isWide: true,
    cell: ({ verdict }: VerdictRow) => (
      <>
        <Use {...verdict} />
        <Added verdict={verdict} />
      </>
    ),
  },
  { title: '% of limit', isNumber: true, cell: ({ verdict }: VerdictRow) => <Fullness {...verdict} /> },
] as const;

interface WhyColumnProps<Row> {
  /** Words for the kinds of data of a row. */
  readonly wordsOf: (row: Row) => string;
  readonly keyOf: (row: Row) => string;
  /** Key of the row whose reasons are shown. */
  readonly asked: string | null;
  readonly onAsk: (key: string | null) => void;
}

/** Column of a table of decisions with buttons that show the reasons. */
export function whyColumn<Row>({ wordsOf, keyOf, asked, onAsk }: WhyColumnProps<Row>): Column<Row> {
  return {
    title: 'Why',
    cell: row => (
      <button
        type="button"
        class="quiet"
        aria-expanded={asked === keyOf(row)}
        onClick={() => onAsk(asked === keyOf(row) ? null : keyOf(row))}
      >
        Why<span class="visually-hidden">: {wordsOf(row)}</span>
      </button>
    ),
  };
}

interface AddedProps {
  readonly verdict: Pick<Decided, 'allowance' | 'garbage' | 'grace'> &
    Partial<Pick<Decided, 'group' | 'per' | 'share'>>;
}

/**
 * Notes beside a usage: that all members of a group count together, stored bytes that do not count, the
 * grace, and the part of the limit from allowances.
 */
export function Added({ verdict: { allowance, garbage, grace, group, per, share } }: AddedProps) {
  return (
    <>
      {per === 'group' && (
        <span class="quiet-text">
          {' '}
          (all members of <Name>{group ?? ''}</Name> together
          {share !== undefined && (
            <>
              ; own share: <Size bytes={share} />
            </>
          )}
          )
        </span>
      )}
      {garbage !== undefined && (
        <span class="quiet-text">
          {' '}
          (<Size bytes={garbage.stored - garbage.billed} /> more are stored, and do not count)
        </span>
      )}
      {grace !== undefined && (
        <span class="quiet-text">
          {' '}
          (grace until <Time at={grace.until} />, below <Size bytes={grace.below} />)
        </span>
      )}
      {allowance !== undefined && (
        <span class="quiet-text">
          {' '}
          (includes <Size bytes={allowance.bytes} /> extra until <Time at={allowance.until} />
          {allowance.count > 1 && ' and later'})
        </span>
      )}
    </>
  );
}

/** Shows the unreachable and the counted bytes; renders nothing if all bytes count. */
export function Billed({ verdict: { garbage } }: { readonly verdict: Pick<Decided, 'garbage'> }) {
  if (garbage === undefined) return null;
  const { unreachable, billed, most } = garbage;
  return (
    <p>
      Unreachable: <Size bytes={unreachable} /> (no branch or tag needs it any more). Counted:{' '}
      <Size bytes={billed} />.
      {unreachable > most && (
        <>
          {' '}
          At most <Size bytes={most} /> of it do not count; the rest counts until the next garbage collection.
        </>
      )}
    </p>
  );
}

/** Returns the limit's position in a bar of stored bytes, some of which may not count; -1 if it has none. */
export function limitInStored({ limit, garbage, per }: Pick<Decided, 'garbage' | 'limit' | 'per'>): number {
  if (per !== 'owner') return -1;
  if (limit === null || limit <= 0 || garbage === undefined) return limit ?? -1;
  return limit + garbage.stored - garbage.billed;
}

export function DecidedBy({ verdict: { used, group, rule } }: DecidedByProps) {
  if (used === null) return <span class="quiet-text">no rule</span>;
  if (group === null || rule === null)
    return <span class="quiet-text">by the limit for everybody (TOTAL)</span>;
  return (
    <span class="quiet-text">
      by rule <NameLink page="rule">{rule}</NameLink> of group <NameLink page="group">{group}</NameLink>
    </span>
  );
}
