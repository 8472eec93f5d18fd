/** List of all owners with search, filters and sorting. The address contains the query. */

import { useQuery } from '@tanstack/preact-query';
import { useEffect, useState } from 'preact/hooks';
import { nameFault } from '../../../src/quota/index.ts';
import { counted, printable } from '../../../src/text.ts';
import type { OwnerRow, OwnerState, User } from '../../../src/wire/index.ts';
import { apiUrl, ask } from '../api/ask.ts';
import { groupNamesQuery, type OwnersAsked, ownersQuery } from '../api/queries.ts';
import { announce } from '../parts/announcer.tsx';
import { Button } from '../parts/button.tsx';
import { Confirm } from '../parts/dialog.tsx';
import { Choice, changed, Field } from '../parts/field.tsx';
import { Size, Time } from '../parts/figures.tsx';
import { Name } from '../parts/name.tsx';
import { ownerColumns } from '../parts/owner-columns.tsx';
import { Page } from '../parts/page.tsx';
import { Pager, pageIn, pageSize } from '../parts/pager.tsx';
import { NameField } from '../parts/rule-form.tsx';
import { useSearchText } from '../parts/settled.ts';
import { Answered, Empty } from '../parts/states.tsx';
import { type Column, type Sorting, Table } from '../parts/table.tsx';
import { go, to, useQueryPart } from '../place.ts';
import { ChosenOwners } from './chosen-owners.tsx';

/**
 * Milliseconds without a key until the address and the announcement follow; the search itself runs at each
 * key.
 */
const settledMs = 60;

const states = [
  ['', 'any'],
  ['over', 'over the limit'],
  ['grace', 'over the limit, in the grace'],
  ['near', 'near the limit'],
  ['over,grace,near', 'over or near the limit'],
  ['ok', 'OK'],
] as const satisfies readonly (readonly [OwnerState | '' | 'over,grace,near', string])[];

const types = [
  ['', 'any'],
  ['user', 'users'],
  ['organization', 'organizations'],
] as const;

export function Owners() {
  const [query, change] = useQueryPart();
  const { text, setText, settled } = useSearchText(settledMs);
  const [isCreating, setCreating] = useState(false);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const asked = askedIn(query);
  const wanted = text.trim();
  const owners = useQuery(ownersQuery(wanted === asked.q ? asked : { ...asked, q: wanted, page: 1 }));
  const total = owners.data?.total;
  const isFiltered = asked.state !== undefined || asked.group !== undefined || asked.type !== undefined;
  useEffect(() => {
    if ((settled !== '' || isFiltered) && total !== undefined)
      announce(counted(total, 'owner found', 'owners found'));
  }, [settled, isFiltered, total]);
  return (
    <Page
      title="Owners"
      help="owners"
      actions={
        <>
          <a href={csvAddress(asked)} download="owners.csv">
            Download CSV
          </a>
          <Button onClick={() => setCreating(true)}>New owner</Button>
        </>
      }
    >
      <search class="fields">
        <Field label="Search by name" type="search" value={text} onInput={setText} />
        <Filters asked={asked} onChange={part => change({ ...part, page: '' })} />
        {(isFiltered || asked.q !== '') && (
          <Button
            onClick={() => {
              setText('');
              change({ q: '', state: '', group: '', type: '', page: '' });
            }}
          >
            Show all owners
          </Button>
        )}
      </search>
      {chosen.size > 0 && <ChosenOwners names={[...chosen]} onClear={() => setChosen(new Set())} />}
      <Answered query={owners} what="the owners" rows={12}>
        {({ entries, total: count }) =>
          count === 0 ? (
            <Nobody isSearched={wanted !== '' || isFiltered} />
          ) : (
            <>
              <List
                rows={entries}
                asked={asked}
                chosen={chosen}
                onChoose={(names, isIn) =>
                  setChosen(names.reduce((all, name) => changed(all, name, isIn), chosen))
                }
                onSort={({ by, order }) => change({ sort: by, order, page: '' })}
              />
              <Pager
                page={asked.page}
                total={count}
                of={['owner', 'owners']}
                onPage={page => change({ page: String(page) })}
              />
            </>
          )
        }
      </Answered>
      {isCreating && <NewOwner onClose={() => setCreating(false)} />}
    </Page>
  );
}

interface FiltersProps {
  readonly asked: OwnersAsked;
  readonly onChange: (part: Readonly<Record<string, string>>) => void;
}

function Filters({ asked, onChange }: FiltersProps) {
  const names = useQuery(groupNamesQuery).data ?? [];
  // The group in the address is always offered, even before the names are loaded or after it was deleted.
  const known = asked.group === undefined || names.includes(asked.group) ? names : [asked.group, ...names];
  return (
    <>
      <Choice
        label="State"
        value={states.find(([state]) => state === asked.state)?.[0] ?? ''}
        onChoice={state => onChange({ state })}
        options={states}
      />
      <Choice
        label="Group"
        value={asked.group ?? ''}
        onChoice={group => onChange({ group })}
        options={[['', 'any'], ...known.map(name => [name, printable(name)] as const)]}
      />
      <Choice
        label="Type"
        value={types.find(([type]) => type === asked.type)?.[0] ?? ''}
        onChoice={type => onChange({ type })}
        options={types}
      />
    </>
  );
}

function Nobody({ isSearched }: { isSearched: boolean }) {
  if (isSearched)
    return <Empty>No owner matches the search and the filters. “Show all owners” takes them away.</Empty>;
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
  readonly chosen: ReadonlySet<string>;
  readonly onChoose: (names: readonly string[], isIn: boolean) => void;
  readonly onSort: (sorting: Sorting) => void;
}

function List({ rows, asked, chosen, onChoose, onSort }: ListProps) {
  const areAllChosen = rows.every(({ name }) => chosen.has(name));
  const columns: readonly Column<OwnerRow>[] = [
    {
      ...ownerColumns.name,
      cell: row => (
        <span class="choosable">
          <input
            type="checkbox"
            aria-label={`Choose ${printable(row.name)}`}
            checked={chosen.has(row.name)}
            onChange={event => onChoose([row.name], event.currentTarget.checked)}
          />
          {ownerColumns.name.cell(row)}
        </span>
      ),
    },
    ownerColumns.state,
    ownerColumns.percent,
    {
      title: 'Limit',
      isNumber: true,
      isWide: true,
      cell: ({ limit, per }) => (
        <>
          <Size bytes={limit} />
          {per === 'group' && <span class="quiet-text"> together</span>}
        </>
      ),
    },
    ownerColumns.stored,
    {
      title: 'Group',
      isWide: true,
      cell: ({ group }) =>
        group === null ? <span class="quiet-text">everybody (TOTAL)</span> : <Name>{group}</Name>,
    },
    {
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
    <>
      <Table
        caption="Owners"
        columns={columns}
        rows={rows}
        keyOf={({ name }) => name}
        sorting={{ by: asked.sort, order: asked.order }}
        onSort={onSort}
      />
      <p>
        <Button
          look="quiet"
          onClick={() =>
            onChoose(
              rows.map(({ name }) => name),
              !areAllChosen,
            )
          }
        >
          {areAllChosen ? 'Choose none of this page' : 'Choose all of this page'}
        </Button>
      </p>
    </>
  );
}

const sorts = ['name', 'total', 'percent'];

function askedIn(query: URLSearchParams): OwnersAsked {
  const sort = query.get('sort') ?? '';
  const by = sorts.includes(sort) ? sort : 'total';
  const order = query.get('order') ?? (by === 'name' ? 'asc' : 'desc');
  return {
    q: query.get('q') ?? '',
    state: states.find(([state]) => state !== '' && state === query.get('state'))?.[0],
    group: query.get('group') ?? undefined,
    type: typeIn(query.get('type')),
    sort: by,
    order: order === 'asc' ? 'asc' : 'desc',
    page: pageIn(query),
    limit: pageSize,
  };
}

function typeIn(text: string | null): OwnersAsked['type'] {
  return text === 'user' || text === 'organization' ? text : undefined;
}

function csvAddress({ page: _, limit: __, ...asked }: OwnersAsked): string {
  return apiUrl(['admin', 'quota', 'usage.csv'], asked).href;
}

function NewOwner({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState('');
  const [type, setType] = useState<User['type']>('user');
  return (
    <Confirm
      title="New owner"
      action="Create owner"
      isReady={nameFault(name) === null}
      act={() => ask(['admin', 'users'], { method: 'POST', body: { username: name, type } })}
      onClose={isDone => (isDone ? go(to('owner', name)) : onClose())}
    >
      <NameField label="Name" name={name} taken={new Set()} onInput={setName} />
      <Choice
        label="Type"
        value={type}
        onChoice={setType}
        options={[
          ['user', 'a user'],
          ['organization', 'an organization'],
        ]}
      />
    </Confirm>
  );
}
