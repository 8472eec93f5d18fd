/** Page of the largest repositories and other units of all owners. The address contains the query. */

import { type Subject, subjects } from '../../../src/quota/index.ts';
import type { AnyUnit } from '../../../src/wire/index.ts';
import { largestQuery } from '../api/queries.ts';
import { kindWords } from '../parts/bar.tsx';
import { Choice, Field } from '../parts/field.tsx';
import { Time } from '../parts/figures.tsx';
import { NameLink } from '../parts/name.tsx';
import { Page } from '../parts/page.tsx';
import { Pager, pageIn, pageSize } from '../parts/pager.tsx';
import { useSearchText } from '../parts/settled.ts';
import { Query } from '../parts/states.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { hostColumns, unitColumns } from '../parts/units.tsx';
import { useQueryPart } from '../place.ts';

const settledMs = 150;
const usual: Subject = 'size:repos:all';

export function Repositories() {
  const [query, change] = useQueryPart();
  const { text, setText } = useSearchText(settledMs);
  const q = query.get('q') ?? '';
  const subject = subjects.find(each => each === query.get('subject')) ?? usual;
  const page = pageIn(query);
  return (
    <Page title="Largest repositories" help="repositories">
      <search class="fields">
        <Field label="Search by path or name" type="search" value={text} onInput={setText} />
        <Choice
          label="Kind of data"
          value={subject}
          options={subjects.map(each => [each, kindWords(each)] as const)}
          onChoice={chosen => change({ subject: chosen === usual ? '' : chosen, page: '' })}
        />
      </search>
      <Query of={largestQuery({ q, subject, page, limit: pageSize })} what="the repositories" rows={12}>
        {({ entries, total }) => (
          <>
            <Table
              caption="Repositories and other data, largest first"
              empty={
                q === ''
                  ? 'Nothing of this kind is stored. Choose another kind, or start a scan on the page Scans.'
                  : 'No path or name contains this text. Type less of it.'
              }
              rows={entries}
              keyOf={({ host, subject: kind, name, owner }) => `${host} ${kind} ${owner} ${name}`}
              columns={columnsFor(entries)}
            />
            <Pager
              page={page}
              total={total}
              of={['entry', 'entries']}
              onPage={next => change({ page: String(next) })}
            />
          </>
        )}
      </Query>
    </Page>
  );
}

function columnsFor(rows: readonly AnyUnit[]): readonly Column<AnyUnit>[] {
  return [
    unitColumns.name,
    {
      title: 'Owner',
      cell: ({ owner }) =>
        owner === null ? <span class="quiet-text">nobody</span> : <NameLink page="owner">{owner}</NameLink>,
    },
    unitColumns.size,
    unitColumns.kind,
    ...hostColumns(rows),
    {
      title: 'Measured',
      isWide: true,
      cell: ({ kind, measured_at: at }) => (
        <Time at={at} absent={kind === 'reported' ? 'reported' : 'on its host'} />
      ),
    },
  ];
}
