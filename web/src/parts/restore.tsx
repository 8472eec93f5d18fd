/** Dialog that undoes a change of the policy by a new change, and shows its effect first. */

import { useQuery } from '@tanstack/preact-query';
import { changeQuery, policyQuery } from '../api/queries.ts';
import { draftOf, replacementOf } from '../policy/edit.ts';
import { isRestorable, type PolicyEvent, restored } from '../policy/restore.ts';
import { save, trialQuery } from '../policy/trial.ts';
import { Button } from './button.tsx';
import { Confirm, Dialog } from './dialog.tsx';
import { Effect } from './effect.tsx';
import { Time } from './figures.tsx';
import { Name, Others } from './name.tsx';
import { Answered } from './states.tsx';

interface RestoreProps {
  readonly event: PolicyEvent;
  readonly onClose: () => void;
}

export function Restore({ event, onClose }: RestoreProps) {
  const policy = useQuery(policyQuery);
  const change = useQuery(changeQuery(event.change, event.at));
  if (policy.data === undefined || change.data === undefined) {
    return (
      <Dialog title="Undo this change?" onClose={onClose}>
        <Answered query={policy} what="the policy">
          {() => (
            <Answered query={change} what="the change">
              {() => null}
            </Answered>
          )}
        </Answered>
        <div class="actions">
          <Button onClick={onClose}>Cancel</Button>
        </div>
      </Dialog>
    );
  }
  const outcome = restored(policy.data, change.data);
  if (outcome.is === 'edited') {
    return (
      <Sure
        event={event}
        events={change.data}
        policy={policy.data}
        edited={outcome.policy}
        onClose={onClose}
      />
    );
  }
  return (
    <Dialog title="This change cannot be undone" onClose={onClose}>
      {outcome.is === 'nothing' ? (
        <p>Only the order was changed, which decides nothing.</p>
      ) : (
        <>
          <ul>
            {outcome.why.slice(0, mostShown).map(why => (
              <li key={why}>{why}</li>
            ))}
            <Others count={outcome.why.length - mostShown} />
          </ul>
          <p>Undo the later changes first, or edit the policy.</p>
        </>
      )}
      <div class="actions">
        <Button look="primary" onClick={onClose}>
          Close
        </Button>
      </div>
    </Dialog>
  );
}

const mostShown = 10;

interface SureProps extends RestoreProps {
  readonly events: readonly PolicyEvent[];
  readonly policy: Parameters<typeof draftOf>[0];
  readonly edited: Parameters<typeof draftOf>[1];
}

function Sure({ event, events, policy, edited, onClose }: SureProps) {
  const trial = useQuery(trialQuery(draftOf(policy, edited), policy.version));
  const undone = events.filter(isRestorable);

  return (
    <Confirm
      title="Undo this change?"
      action="Undo"
      done="The change is undone."
      isReady={trial.isSuccess}
      act={() => save(replacementOf(policy, edited))}
      onClose={onClose}
    >
      <p>
        This undoes the change of <Time at={event.at} />, as a new change that is recorded like any other:
      </p>
      <ul>
        {undone.slice(0, mostShown).map(each => (
          <li key={each.id}>
            {verbs[each.action]} {each.what === 'assignment' ? 'groups of' : each.what}{' '}
            <Name>{each.name ?? ''}</Name>
          </li>
        ))}
        <Others count={undone.length - mostShown} />
      </ul>
      <Effect trial={trial} isCurrent={!trial.isPending} />
    </Confirm>
  );
}

/** Verbs for undoing each action. */
const verbs: Readonly<Record<PolicyEvent['action'], string>> = {
  created: 'Delete',
  edited: 'Change back',
  deleted: 'Create again',
};
