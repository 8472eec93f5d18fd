/** The largest repositories and other data of all owners together. The address has what is asked. */

import { useQuery } from '@tanstack/preact-query';
import { useEffect, useState } from 'preact/hooks';
import { type Subject, subjects } from '../../../src/quota/index.ts';
import { printable } from '../../../src/text/index.ts';
import type { AnyUnit } from '../../../src/wire/index.ts';
import { largestQuery } from '../api/queries.ts';
import { kindWords } from '../parts/bar.tsx';
import { Choice, Field } from '../parts/field.tsx';
import { Size, Time } from '../parts/figures.tsx';
import { Name } from '../parts/name.tsx';
import { Page } from '../parts/page.tsx';
import { Pager } from '../parts/pager.tsx';
import { useSettled } from '../parts/settled.ts';
import { Answered, Empty } from '../parts/states.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { to, useQueryPart } from '../place.ts';
import { subjectNamed } from '../usage.ts';

const pageSize = 50;
const settledMs = 150;
const usual: Subject = 'size:repos:all';

export function Repositories() {
  const [query, change] = useQueryPart();
  const [text, setText] = useState(query.get('q') ?? '');
  const q = query.get('q') ?? '';
  const settled = useSettled(text.trim(), settledMs);
  useEffect(() => {
    if (settled !== q) change({ q: settled, page: '' });
  });
  const subject = subjects.find(each => each === query.get('subject')) ?? usual;
  const asPage = Number(query.get('page') ?? 1);
  const page = Number.isSafeInteger(asPage) && asPage > 0 ? asPage : 1;
  const found = useQuery(largestQuery({ q, subject, page, limit: pageSize }));
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
      <Answered query={found} what="the repositories" rows={12}>
        {({ entries, total }) =>
          total === 0 ? (
            <Empty>
              {q === '' ? 'Nothing of this kind is stored.' : 'No path or name contains this text.'}
            </Empty>
          ) : (
            <>
              <Table
                caption="Repositories and other data, largest first"
                rows={entries}
                keyOf={({ host, subject: kind, name, owner }) => `${host} ${kind} ${owner} ${name}`}
                columns={columnsFor(entries)}
              />
              <Pager
                page={page}
                pageSize={pageSize}
                total={total}
                of={['entry', 'entries']}
                onPage={next => change({ page: String(next) })}
              />
            </>
          )
        }
      </Answered>
    </Page>
  );
}

function columnsFor(rows: readonly AnyUnit[]): readonly Column<AnyUnit>[] {
  const hasHosts = new Set(rows.map(({ host }) => host)).size > 1;
  return [
    {
      key: 'name',
      title: 'Path or name',
      cell: ({ name }) => (
        <code>
          <bdi>{printable(name)}</bdi>
        </code>
      ),
    },
    {
      key: 'owner',
      title: 'Owner',
      cell: ({ owner }) =>
        owner === null ? (
          <span class="quiet-text">nobody</span>
        ) : (
          <a href={to('owner', owner)}>
            <Name>{owner}</Name>
          </a>
        ),
    },
    {
      key: 'bytes',
      title: 'Size',
      isNumber: true,
      cell: ({ bytes, partial }) => (
        <>
          {partial && <span class="mark near">partly</span>} <Size bytes={bytes} />
        </>
      ),
    },
    {
      key: 'kind',
      title: 'Kind',
      isWide: true,
      cell: ({ subject }) => {
        const known = subjectNamed(subject);
        return known === null ? subject : kindWords(known);
      },
    },
    ...(hasHosts
      ? [{ key: 'host', title: 'Host', isWide: true, cell: ({ host }: AnyUnit) => printable(host) }]
      : []),
    {
      key: 'measured',
      title: 'Measured',
      isWide: true,
      cell: ({ kind, measured_at: at }) => (
        <Time at={at} absent={kind === 'reported' ? 'reported' : 'on its host'} />
      ),
    },
  ];
}
