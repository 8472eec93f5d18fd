/** The allowances of an owner: shown, given and ended. */

import { useState } from 'preact/hooks';
import type { Allowance, OwnerReport } from '../../../src/wire/index.ts';
import { endAllowance, giveAllowance } from '../api/request-queries.ts';
import { AllowanceTable } from '../parts/allowances.tsx';
import { Button } from '../parts/button.tsx';
import { Confirm } from '../parts/dialog.tsx';
import { Field } from '../parts/field.tsx';
import { Size } from '../parts/figures.tsx';
import { MoreFields } from '../parts/more-fields.tsx';
import { Panel } from '../parts/page.tsx';
import { RowButton } from '../parts/table.tsx';
import { moreIn } from '../parts/typed-more.ts';

export function OwnerAllowances({ report: { name, allowances } }: { readonly report: OwnerReport }) {
  const [isGiving, setGiving] = useState(false);
  const [ending, setEnding] = useState<Allowance | null>(null);
  const give = <Button onClick={() => setGiving(true)}>Give an allowance</Button>;
  return (
    <Panel title="Allowances" actions={give}>
      {allowances.length === 0 ? (
        <p class="quiet-text">None. The limits are those of the rules.</p>
      ) : (
        <AllowanceTable
          allowances={allowances}
          action={allowance => <RowButton words="End" onClick={() => setEnding(allowance)} />}
        />
      )}
      {isGiving && <Giving name={name} onClose={() => setGiving(false)} />}
      {ending !== null && (
        <Confirm
          title="End this allowance now?"
          action="End it"
          done="The allowance has ended."
          isDangerous
          act={() => endAllowance(name, ending)}
          onClose={() => setEnding(null)}
        >
          <p>
            The limits are lower by <Size bytes={ending.bytes} /> from then on. This cannot be undone.
          </p>
        </Confirm>
      )}
    </Panel>
  );
}

function Giving({ name, onClose }: { readonly name: string; readonly onClose: () => void }) {
  const [typed, setTyped] = useState({ size: '', lastDay: '', why: '' });
  const more = moreIn(typed);
  return (
    <Confirm
      title="Give an allowance"
      action="Give it"
      done="The allowance is given."
      isReady={more !== null && typed.why.trim() !== ''}
      act={async () => {
        if (more !== null) await giveAllowance(name, { ...more, why: typed.why });
      }}
      onClose={onClose}
    >
      <p>This size is added to each limit above 0 that applies. It ends automatically after the last day.</p>
      <MoreFields more={typed} onChange={changed => setTyped({ ...typed, ...changed })} />
      <Field label="Reason" value={typed.why} onInput={why => setTyped({ ...typed, why })} required />
    </Confirm>
  );
}
