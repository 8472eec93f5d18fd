/**
 * All owners: searched as one types, sorted by what they use, a page at a time. The address has what is
 * asked.
 */

import { useQuery } from '@tanstack/preact-query';
import { useEffect, useState } from 'preact/hooks';
import type { OwnerRow } from '../../../src/wire/index.ts';
import { type OwnersAsked, ownersQuery } from '../api/queries.ts';
import { announce } from '../parts/announcer.tsx';
import { Bar } from '../parts/bar.tsx';
import { Field } from '../parts/field.tsx';
import { counted, Size, Time } from '../parts/figures.tsx';
import { Name } from '../parts/name.tsx';
import { NewOwner } from '../parts/new-owner.tsx';
import { ownerColumns } from '../parts/owner-columns.tsx';
import { Page } from '../parts/page.tsx';
import { Pager } from '../parts/pager.tsx';
import { useSettled } from '../parts/settled.ts';
import { Answered, Empty } from '../parts/states.tsx';
import { type Column, type Sorting, Table } from '../parts/table.tsx';
import { go, to, useQueryPart } from '../place.ts';
import { usageIn } from '../usage.ts';

const pageSize = 50;
/** Every key is a question, but the address and what is said aloud wait for a pause. */
const settledMs = 60;

export function Owners() {
  const [query, change] = useQueryPart();
  const [text, setText] = useState(query.get('q') ?? '');
  const [isCreating, setCreating] = useState(false);
  const wanted = text.trim();
  const settled = useSettled(wanted, settledMs);
  const asked = askedIn(query);
  useEffect(() => {
    if (settled !== asked.q) change({ q: settled, page: '' });
  });
  const owners = useQuery(ownersQuery(wanted === asked.q ? asked : { ...asked, q: wanted, page: 1 }));
  const total = owners.data?.total;
  useEffect(() => {
    if (settled !== '' && total !== undefined) announce(counted(total, 'owner found', 'owners found'));
  }, [settled, total]);
  return (
    <Page
      title="Owners"
      actions={
        <button type="button" onClick={() => setCreating(true)}>
          New owner
        </button>
      }
    >
      <search>
        <Field label="Search by name" type="search" value={text} onInput={setText} />
      </search>
      <Answered query={owners} what="the owners" rows={12}>
        {({ entries, total: count }) =>
          count === 0 ? (
            <Nobody isSearched={wanted !== ''} />
          ) : (
            <>
              <List
                rows={entries}
                asked={asked}
                onSort={sorting => change({ ...sortingParts(sorting), page: '' })}
              />
              <Pager
                page={asked.page}
                pageSize={pageSize}
                total={count}
                of={['owner', 'owners']}
                onPage={page => change({ page: String(page) })}
              />
            </>
          )
        }
      </Answered>
      {isCreating && (
        <NewOwner onClose={made => (made === null ? setCreating(false) : go(to('owner', made)))} />
      )}
    </Page>
  );
}

function Nobody({ isSearched }: { isSearched: boolean }) {
  if (isSearched) return <Empty>No owner's name contains this text.</Empty>;
  return (
    <Empty>
      <p>No owners yet. A scan finds owners in the storage directories; you can also create them here.</p>
      <p>
        <a href={to('scans')}>Measure now</a>
      </p>
    </Empty>
  );
}

interface ListProps {
  readonly rows: readonly OwnerRow[];
  readonly asked: OwnersAsked;
  readonly onSort: (sorting: Sorting) => void;
}

function List({ rows, asked, onSort }: ListProps) {
  const largest = Math.max(0, ...rows.map(({ total }) => total));
  const columns: readonly Column<OwnerRow>[] = [
    ownerColumns.name,
    ownerColumns.stored,
    {
      key: 'bar',
      title: 'By kind',
      isWide: true,
      cell: ({ tree }) => <Bar usage={usageIn(tree)} width={largest} />,
    },
    {
      key: 'limit',
      title: 'Limit',
      isNumber: true,
      isWide: true,
      cell: ({ limit }) => <Size bytes={limit} />,
    },
    { ...ownerColumns.percent, title: '% of limit' },
    {
      key: 'group',
      title: 'Group',
      isWide: true,
      cell: ({ group }) => (group === null ? <span class="quiet-text">built-in</span> : <Name>{group}</Name>),
    },
    ownerColumns.verdict,
    {
      key: 'measured',
      title: 'Measured',
      isWide: true,
      cell: ({ measured_at: measuredAt, partial, stale }) => (
        <>
          <Time at={measuredAt} />
          {(partial || stale) && <span class="mark near">{partial ? 'partly' : 'old'}</span>}
        </>
      ),
    },
  ];
  return (
    <Table
      caption="Owners"
      columns={columns}
      rows={rows}
      keyOf={({ name }) => name}
      sorting={{ by: asked.sort, order: asked.order }}
      onSort={onSort}
    />
  );
}

const sorts = ['name', 'total', 'percent'];

function askedIn(query: URLSearchParams): OwnersAsked {
  const sort = query.get('sort') ?? '';
  const page = Number(query.get('page') ?? 1);
  const by = sorts.includes(sort) ? sort : 'total';
  const order = query.get('order') ?? (by === 'name' ? 'asc' : 'desc');
  return {
    q: query.get('q') ?? '',
    sort: by,
    order: order === 'asc' ? 'asc' : 'desc',
    page: Number.isSafeInteger(page) && page > 0 ? page : 1,
    limit: pageSize,
  };
}

function sortingParts({ by, order }: Sorting): Readonly<Record<string, string>> {
  return { sort: by, order };
}
