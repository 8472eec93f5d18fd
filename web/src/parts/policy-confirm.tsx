/** Takes something out of the policy: asks first, and says what it will do, with the affected owners. */

import { useQuery } from '@tanstack/preact-query';
import type { WholePolicy } from '../../../src/wire/index.ts';
import { draftOf, replacementOf } from '../policy/edit.ts';
import { save, trialQuery } from '../policy/trial.ts';
import { Confirm, type ConfirmProps } from './dialog.tsx';
import { Effect } from './effect.tsx';

interface PolicyConfirmProps extends Omit<ConfirmProps, 'act' | 'isDangerous'> {
  readonly policy: WholePolicy;
  readonly edited: WholePolicy;
}

export function PolicyConfirm({ policy, edited, children, ...props }: PolicyConfirmProps) {
  const trial = useQuery(trialQuery(draftOf(policy, edited)));
  return (
    <Confirm {...props} isDangerous act={() => save(replacementOf(policy, edited))}>
      {children}
      <Effect trial={trial} isCurrent={!trial.isPending} />
    </Confirm>
  );
}
