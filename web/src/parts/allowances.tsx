/** List of allowances, and the answer to a request for more space. */

import type { ComponentChildren } from 'preact';
import type { Allowance, SpaceRequest } from '../../../src/wire/index.ts';
import { Size, Time } from './figures.tsx';
import { Name } from './name.tsx';
import { Table } from './table.tsx';

interface AllowanceTableProps {
  readonly allowances: readonly Allowance[];
  /** Content of the last column; absent for none. */
  readonly action?: (allowance: Allowance) => ComponentChildren;
}

export function AllowanceTable({ allowances, action }: AllowanceTableProps) {
  return (
    <Table
      caption="Allowances, the first to end first"
      rows={allowances}
      keyOf={({ id }) => id}
      columns={[
        { title: 'Allowance', cell: ({ bytes }) => <Size bytes={bytes} /> },
        { title: 'Ends', cell: ({ until }) => <Time at={until} /> },
        { title: 'Reason', isWide: true, cell: ({ why }) => <Name>{why}</Name> },
        { title: 'Given by', isWide: true, cell: allowance => <Giver {...allowance} /> },
        ...(action === undefined ? [] : [{ title: 'Change', cell: action }]),
      ]}
    />
  );
}

function Giver({ automatic, granted_by: by }: Allowance) {
  if (automatic) return <>automatically</>;
  return by === null ? <>the host’s administrator</> : <Name>{by}</Name>;
}

const marks: Readonly<Record<SpaceRequest['state'], string>> = {
  open: 'near',
  granted: 'good',
  declined: 'bad',
  withdrawn: '',
};

export function RequestAnswer({ request: { state, answer } }: { readonly request: SpaceRequest }) {
  const { granted = null, words = '', automatic = false, by = null } = answer ?? {};
  return (
    <>
      <span class={`mark ${marks[state]}`}>{state}</span>
      {automatic && ' automatically'}
      {by !== null && (
        <>
          {' '}
          by <Name>{by}</Name>
        </>
      )}
      {granted !== null && (
        <>
          : <Size bytes={granted.bytes} /> until <Time at={granted.until} />
        </>
      )}
      {words !== '' && (
        <p class="quiet-text">
          <Name>{words}</Name>
        </p>
      )}
    </>
  );
}
