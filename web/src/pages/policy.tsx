/**
 * Page of the whole policy: its limits, possible mistakes, download, and the test and import of another
 * policy.
 */

import { useQuery } from '@tanstack/preact-query';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { counted } from '../../../src/text.ts';
import type { Rule, WholePolicy } from '../../../src/wire/index.ts';
import { apiUrl } from '../api/ask.ts';
import { overviewQuery, policyFaultsQuery, policyQuery } from '../api/queries.ts';
import { announce } from '../parts/announcer.tsx';
import { Button } from '../parts/button.tsx';
import { Confirm } from '../parts/dialog.tsx';
import { Effect, PolicyFaults } from '../parts/effect.tsx';
import { Check, TextArea } from '../parts/field.tsx';
import { Count, limitWords, Size } from '../parts/figures.tsx';
import { NameLink, NameLinks } from '../parts/name.tsx';
import { Page, Panel } from '../parts/page.tsx';
import { SearchedList } from '../parts/pager.tsx';
import { Empty, Query } from '../parts/states.tsx';
import { Table } from '../parts/table.tsx';
import { to } from '../place.ts';
import { readPolicy, trialOf } from '../policy/file.ts';
import { save, trialQuery } from '../policy/trial.ts';

export function Policy() {
  return (
    <Page
      help="policy"
      title="Policy"
      actions={
        <a href={apiUrl(['admin', 'quota', 'policy']).href} download="policy.json">
          Download policy (JSON)
        </a>
      }
    >
      <Query of={policyQuery} what="the policy" rows={4}>
        {policy => <Holders policy={policy} />}
      </Query>
      <Panel title="Possible mistakes">
        <Query of={policyFaultsQuery} what="the possible mistakes" rows={2}>
          {list =>
            list.length === 0 ? (
              <Empty>
                None found. Rules cover every kind of data, and every rule and group has an effect.
              </Empty>
            ) : (
              <PolicyFaults faults={list} />
            )
          }
        </Query>
      </Panel>
      <Panel title="A whole policy">
        <details>
          <summary>Test another policy (JSON), and apply it</summary>
          <TestPolicy />
        </details>
      </Panel>
    </Page>
  );
}

/** Lists each group with its limits, and the limits of owners without a group. */
function Holders({ policy: { groups, rules } }: { readonly policy: WholePolicy }) {
  const { data: overview } = useQuery(overviewQuery);
  const named = new Map(rules.map(rule => [rule.name, rule]));
  const isDefault = (name: string) => overview?.everybody.groups.includes(name) === true;
  const defaults = groups.filter(({ name }) => isDefault(name));
  return (
    <Panel title="Who gets what">
      <SearchedList rows={groups} of={['group', 'groups']}>
        {shown => (
          <Table
            caption="Groups with their limits"
            empty={
              <>
                No groups yet, so the limit for everybody (TOTAL) holds.{' '}
                <a href={to('groups')}>Create a group</a> to give some owners other limits.
              </>
            }
            rows={shown}
            keyOf={({ name }) => name}
            columns={[
              {
                title: 'Group',
                cell: ({ name }) => (
                  <>
                    <NameLink page="group">{name}</NameLink>
                    {isDefault(name) && <span class="mark">default group</span>}
                  </>
                ),
              },
              { title: 'Members', isNumber: true, cell: ({ users }) => <Count>{users.length}</Count> },
              {
                title: 'Limits',
                isMain: true,
                cell: ({ rules: names }) => (
                  <GroupLimits rules={names.flatMap(each => named.get(each) ?? [])} />
                ),
              },
            ]}
          />
        )}
      </SearchedList>
      {overview !== undefined && (
        <p>
          Everybody {groups.length === 0 ? '' : 'in no group '}has{' '}
          {defaults.length === 0 ? (
            <>
              <Total bytes={overview.everybody.total} /> (TOTAL in [quota.default])
            </>
          ) : (
            <>
              the default groups, <NameLinks page="group" names={defaults.map(({ name }) => name)} />; for
              what they do not cover <Total bytes={overview.everybody.total} /> (TOTAL in [quota.default]), or
              nothing with UNCOVERED = deny
            </>
          )}
          .
        </p>
      )}
    </Panel>
  );
}

/** Shows the limit for everybody. */
function Total({ bytes }: { readonly bytes: number }) {
  if (bytes === -1) return <>no limit</>;
  return (
    <>
      <Size bytes={bytes} /> in all, the limit for everybody
    </>
  );
}

/** Limit of the rules that the table shows for a group. */
const mostLimits = 10;

function GroupLimits({ rules }: { readonly rules: readonly Rule[] }) {
  if (rules.length === 0) return <span class="quiet-text">none: it has no rules</span>;
  return (
    <ul>
      {rules.slice(0, mostLimits).map(rule => (
        <li key={rule.name}>{limitWords(rule)}</li>
      ))}
      {rules.length > mostLimits && <li>and {counted(rules.length - mostLimits, 'more', 'more')}</li>}
    </ul>
  );
}

type Read = Parameters<typeof trialOf>[0];

/** A text whose effect is shown, and the policy in force at that time. */
interface Tried {
  readonly text: string;
  readonly inForce: WholePolicy;
}

function TestPolicy() {
  const [text, setText] = useState('');
  const { data: inForce } = useQuery(policyQuery);
  const [tried, setTried] = useState<Tried | null>(null);
  const [isImporting, setImporting] = useState(false);
  const read = text.trim() === '' ? null : readPolicy(text);
  const take = async (file: File | undefined) => {
    if (file !== undefined) setText(await file.text());
  };
  return (
    <form
      class="stack"
      onSubmit={event => {
        event.preventDefault();
        if (inForce !== undefined) setTried({ text, inForce });
      }}
    >
      <p class="quiet-text">
        Enter all rules and groups of the new policy as JSON. You can download the policy in force, change it,
        and see the effect here before you apply it.
      </p>
      <TextArea
        label="Policy"
        value={text}
        onInput={setText}
        fault={read === null || read.ok ? undefined : read.reason}
      />
      <label class="field">
        <span>Load from a file</span>
        <input
          type="file"
          accept="application/json,.json"
          onChange={event => void take(event.currentTarget.files?.[0])}
        />
      </label>
      <div class="actions">
        <button type="submit" class="primary" disabled={!read?.ok || inForce === undefined}>
          Show the effect
        </button>
      </div>
      {tried?.text === text && read?.ok && (
        <>
          <EffectOf policy={read.policy} version={tried.inForce.version}>
            <div class="actions">
              <Button look="danger" onClick={() => setImporting(true)}>
                Apply this policy
              </Button>
            </div>
          </EffectOf>
          {isImporting && (
            <Import
              policy={read.policy}
              inForce={tried.inForce}
              onClose={isDone => {
                setImporting(false);
                if (!isDone) return;
                setText('');
                setTried(null);
              }}
            />
          )}
        </>
      )}
    </form>
  );
}

interface EffectProps {
  readonly policy: Read;
  readonly version: string;
  /** Shown below the effect, once it is there. */
  readonly children: ComponentChildren;
}

function EffectOf({ policy, version, children }: EffectProps) {
  const trial = useQuery(trialQuery(trialOf(policy), version));
  return (
    <>
      <Effect trial={trial} isCurrent={!trial.isPending} />
      {trial.isSuccess && children}
    </>
  );
}

interface ImportProps {
  readonly policy: Read;
  /** The policy that the shown effect was compared with. If somebody else changes it, nothing is saved. */
  readonly inForce: WholePolicy;
  readonly onClose: (isDone: boolean) => void;
}

function Import({ policy, inForce: { version, rules, groups }, onClose }: ImportProps) {
  const [createUsers, setCreateUsers] = useState(false);
  return (
    <Confirm
      title="Apply this policy?"
      action="Apply this policy"
      done="The policy is in force."
      isDangerous
      act={async () => {
        const { created_users: created } = await save({ ...policy, version }, { createUsers });
        if (created.length > 0) announce(`${counted(created.length, 'owner was', 'owners were')} created.`);
      }}
      onClose={onClose}
    >
      <p>
        {counted(policy.rules.length, 'rule', 'rules')} and {counted(policy.groups.length, 'group', 'groups')}{' '}
        replace {counted(rules.length, 'rule', 'rules')} and {counted(groups.length, 'group', 'groups')}.
        Rules and groups that the new policy does not have are deleted.
      </p>
      <Check label="Create unknown owners" checked={createUsers} onChange={setCreateUsers} />
    </Confirm>
  );
}
