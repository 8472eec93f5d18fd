/**
 * The policy as a whole: what of it is hardly meant, taken out as a file, another one tried and put in its
 * place.
 */

import { useQuery } from '@tanstack/preact-query';
import { useState } from 'preact/hooks';
import { apiUrl } from '../api/ask.ts';
import { policyFaultsQuery, policyQuery } from '../api/queries.ts';
import { announce } from '../parts/announcer.tsx';
import { Confirm } from '../parts/dialog.tsx';
import { Effect } from '../parts/effect.tsx';
import { Check } from '../parts/field.tsx';
import { counted } from '../parts/figures.tsx';
import { Page, Panel } from '../parts/page.tsx';
import { PolicyFaults } from '../parts/policy-faults.tsx';
import { Answered, Empty } from '../parts/states.tsx';
import { TextArea } from '../parts/text-area.tsx';
import { readPolicy, trialOf } from '../policy/file.ts';
import { save, trialQuery } from '../policy/trial.ts';

export function Policy() {
  const faults = useQuery(policyFaultsQuery);
  return (
    <Page
      title="Policy"
      actions={
        <a href={apiUrl(['admin', 'quota', 'policy']).href} download="policy.json">
          Download it
        </a>
      }
    >
      <Panel title="Hardly meant">
        <Answered query={faults} what="the policy's faults" rows={2}>
          {list =>
            list.length === 0 ? (
              <Empty>Nothing: every kind of data is covered, and every rule and group has its use.</Empty>
            ) : (
              <PolicyFaults faults={list} />
            )
          }
        </Answered>
      </Panel>
      <Panel title="Try another one">
        <TestPolicy />
      </Panel>
    </Page>
  );
}

function TestPolicy() {
  const [text, setText] = useState('');
  const [tried, setTried] = useState('');
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
        setTried(text);
      }}
    >
      <p class="quiet-text">
        All rules and groups that there are to be, as JSON. Download the policy in force, change it, and see
        here what that would do before it is in force.
      </p>
      <TextArea
        label="Policy"
        value={text}
        onInput={setText}
        fault={read === null || read.ok ? undefined : read.reason}
      />
      <label class="field">
        <span>From a file</span>
        <input
          type="file"
          accept="application/json,.json"
          onChange={event => void take(event.currentTarget.files?.[0])}
        />
      </label>
      <div class="actions">
        <button type="submit" class="primary" disabled={read?.ok !== true}>
          See what it would change
        </button>
      </div>
      {tried !== '' && tried === text && read?.ok && (
        <>
          <Tried policy={read.policy} />
          <div class="actions">
            <button type="button" class="danger" onClick={() => setImporting(true)}>
              Put it in force
            </button>
          </div>
          {isImporting && (
            <Import
              policy={read.policy}
              onClose={isDone => {
                setImporting(false);
                if (isDone) setText('');
              }}
            />
          )}
        </>
      )}
    </form>
  );
}

type Read = Parameters<typeof trialOf>[0];

function Tried({ policy }: { policy: Read }) {
  const trial = useQuery(trialQuery(trialOf(policy)));
  return <Effect trial={trial} isCurrent={!trial.isPending} />;
}

function Import({ policy, onClose }: { policy: Read; onClose: (isDone: boolean) => void }) {
  const inForce = useQuery(policyQuery);
  const [createUsers, setCreateUsers] = useState(false);
  const version = inForce.data?.version;
  return (
    <Confirm
      title="Put this policy in force?"
      action="Put it in force"
      done="The policy is in force."
      isDangerous
      isReady={version !== undefined}
      act={async () => {
        const { created_users: created } = await save({ ...policy, version }, { createUsers });
        if (created.length > 0) announce(`${counted(created.length, 'owner was', 'owners were')} created.`);
      }}
      onClose={onClose}
    >
      <p>
        {counted(policy.rules.length, 'rule', 'rules')} and {counted(policy.groups.length, 'group', 'groups')}{' '}
        take the place of{' '}
        {inForce.data === undefined ? 'all' : counted(inForce.data.rules.length, 'rule', 'rules')} and{' '}
        {inForce.data === undefined ? 'all' : counted(inForce.data.groups.length, 'group', 'groups')} that
        there are. What is not in it is gone.
      </p>
      <Check
        label="Create the owners that it names and nobody knows"
        checked={createUsers}
        onChange={setCreateUsers}
      />
    </Confirm>
  );
}
