/** Possible mistakes in a policy, each with a link to the place that fixes it. */

import { printable } from '../../../src/text/index.ts';
import type { LintFault } from '../../../src/wire/index.ts';
import { to } from '../place.ts';
import { Others } from './name.tsx';

/** A policy of ten thousand rules may have as many mistakes; the next ones follow once these are gone. */
const mostShown = 100;

export function PolicyFaults({ faults }: { readonly faults: readonly LintFault[] }) {
  return (
    <ul class="faults">
      {faults.slice(0, mostShown).map(fault => (
        <li key={fault.message}>
          {printable(fault.message)} <Mend fault={fault} />
        </li>
      ))}
      <Others count={faults.length - mostShown} />
    </ul>
  );
}

function Mend({ fault: { code, group, rule } }: { fault: LintFault }) {
  if (rule !== undefined) return <a href={to('rule', rule)}>Open the rule</a>;
  if (group !== undefined && code !== 'missing_default_group')
    return <a href={to('group', group)}>Open the group</a>;
  return code === 'missing_default_group' ? (
    <a href={to('groups')}>Create it</a>
  ) : (
    <a href={to('rules')}>See the rules</a>
  );
}
