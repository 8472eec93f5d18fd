/** Limits that the members of a group share: how full they are, and the shares of members. */

import { useQuery } from '@tanstack/preact-query';
import { useState } from 'preact/hooks';
import { counted, printable } from '../../../src/text.ts';
import type { GroupUsage, OwnPool } from '../../../src/wire/index.ts';
import { groupUsageQuery } from '../api/queries.ts';
import { type Segment, SegmentBar } from './bar.tsx';
import { kindsWords, modeWords, Percent, Size, Use } from './figures.tsx';
import { History } from './history.tsx';
import { NameLink } from './name.tsx';
import { Panel } from './page.tsx';
import { lastPage, Pager, pageSize } from './pager.tsx';
import { Answered } from './states.tsx';
import { Table } from './table.tsx';
import { State } from './verdict.tsx';

type Pool = GroupUsage['pools'][number];

const ownColour = 'var(--accent)';
const othersColour = 'var(--line-strong)';
/** Limit of the members with their own segment in the bar. */
const mostSegments = 20;

interface OwnPoolsProps {
  readonly pools: readonly OwnPool[];
  /** Label of the owner's share: `Your share`. */
  readonly shareWords: string;
}

/** Limit of the members of a group whose history the API adds up. */
const mostAddedUp = 2000;

/** Shared limits of one owner, without the names of other members. */
export function OwnPools({ pools, shareWords }: OwnPoolsProps) {
  if (pools.length === 0) return null;
  return (
    <Panel title="Limits shared with other members">
      {pools.map(pool => {
        const { group, rule, share, used } = pool;
        const segments = [
          segment('own', shareWords, share, ownColour),
          segment('others', 'Other members', used - share, othersColour),
        ];
        return (
          <section key={`${group} ${rule}`} class="stack" aria-label={printable(group)}>
            <p>
              All members of <NameLink page="group">{group}</NameLink> together:
            </p>
            <PoolUse pool={pool} segments={segments} />
            <ul class="legend">
              {segments.map(({ key, words, bytes, background }) => (
                <li key={key}>
                  <span>
                    <span class="swatch" style={{ background }} />
                    {words}
                  </span>
                  <Size bytes={bytes} />
                </li>
              ))}
            </ul>
          </section>
        );
      })}
    </Panel>
  );
}

/**
 * Members of a group and their shared limits. With such limits the largest member comes first, otherwise
 * names decide.
 */
export function GroupMembers({ group }: { readonly group: string }) {
  const [asked, setPage] = useState(1);
  const largest = useQuery(groupUsageQuery({ group, page: 1, limit: pageSize }));
  // The group may have fewer members by now.
  const page = Math.min(asked, lastPage(largest.data?.count ?? 0));
  const shown = useQuery(groupUsageQuery({ group, page, limit: pageSize }));
  const hasPools = (largest.data?.pools.length ?? 0) > 0;
  return (
    <>
      {hasPools && largest.data !== undefined && (
        <Panel title="All members together">
          {largest.data.pools.map(pool => (
            <section key={pool.rule} class="stack" aria-label={printable(pool.rule)}>
              <PoolUse pool={pool} segments={memberSegments(pool, largest.data.members)} />
              <p class="quiet-text">
                Limited by rule <NameLink page="rule">{pool.rule}</NameLink>. Each part of the bar is one
                member, the largest first.
              </p>
            </section>
          ))}
        </Panel>
      )}
      {hasPools && (largest.data?.count ?? 0) <= mostAddedUp && <History of={{ is: 'group', name: group }} />}
      <Answered query={shown} what="the members" rows={5}>
        {({ pools, members, count }) => (
          <Panel title={counted(count, 'member', 'members')}>
            {pools.length === 0 && count > 0 ? (
              <ul class="row">
                {members.map(({ owner }) => (
                  <li key={owner}>
                    <NameLink page="owner">{owner}</NameLink>
                  </li>
                ))}
              </ul>
            ) : (
              <Table<Member>
                caption="Members, largest first"
                empty="This group has no members: edit it to add some. If it is one of DEFAULT_GROUPS, it applies to all owners who are in no group."
                rows={members}
                keyOf={({ owner }) => owner}
                columns={[
                  { title: 'Owner', cell: ({ owner }) => <NameLink page="owner">{owner}</NameLink> },
                  ...pools.flatMap(pool => memberColumns(pool, pools.length > 1)),
                ]}
              />
            )}
            {count > pageSize && (
              <Pager page={page} total={count} of={['member', 'members']} onPage={setPage} />
            )}
          </Panel>
        )}
      </Answered>
    </>
  );
}

type Member = GroupUsage['members'][number];

function memberColumns({ rule, limit }: Pool, isOneOfSeveral: boolean) {
  const ofRule = isOneOfSeveral ? `, ${printable(rule)}` : '';
  const usedBy = ({ used }: Member) => used[rule] ?? 0;
  return [
    { title: `Stored${ofRule}`, isNumber: true, cell: (member: Member) => <Size bytes={usedBy(member)} /> },
    {
      title: `% of the limit of all${ofRule}`,
      isNumber: true,
      cell: (member: Member) => <Percent used={usedBy(member)} limit={limit} />,
    },
  ];
}

interface PoolUseProps {
  readonly pool: Pool;
  readonly segments: readonly Segment[];
}

function PoolUse({ pool, segments }: PoolUseProps) {
  const { used, limit, state, mode } = pool;
  return (
    <>
      <p class="row">
        <strong class="figure">
          <Use used={used} limit={limit} />
        </strong>
        <Percent used={used} limit={limit} />
        <State state={state} />
        {mode !== undefined && <span class="mark">{modeWords[mode]}</span>}
        <span class="quiet-text">{kindsWords(pool)}</span>
      </p>
      <SegmentBar segments={segments} width={limit} limit={limit} />
    </>
  );
}

function segment(key: string, words: string, bytes: number, background: string): Segment {
  return { key, words, bytes: Math.max(0, bytes), background };
}

/** Returns the largest members, and all others as one segment. */
function memberSegments({ rule, used }: Pool, members: readonly Member[]): readonly Segment[] {
  const largest = members
    .map(({ owner, used: bytes }) => segment(owner, printable(owner), bytes[rule] ?? 0, ownColour))
    .filter(({ bytes }) => bytes > 0)
    .toSorted((a, b) => b.bytes - a.bytes)
    .slice(0, mostSegments);
  const others = used - largest.reduce((sum, { bytes }) => sum + bytes, 0);
  return [...largest, segment('\0others', 'Other members', others, othersColour)];
}
