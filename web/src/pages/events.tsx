/** What happened: refusals, thresholds come to, changes of policy. The address has what is asked. */

import { useState } from 'preact/hooks';
import type { EventKind } from '../../../src/wire/index.ts';
import { EventList } from '../parts/event-list.tsx';
import { Choice, Field } from '../parts/field.tsx';
import { Page } from '../parts/page.tsx';
import { useQueryPart } from '../place.ts';

const kinds = [
  ['', 'everything'],
  ['refusal', 'refusals'],
  ['threshold', 'thresholds reached'],
  ['policy', 'policy changes'],
  ['sign-in', 'sign-ins'],
  ['request', 'requests for more space'],
  ['allowance', 'extra space'],
  ['reclaim', 'collected garbage'],
] as const satisfies readonly (readonly [EventKind | '', string])[];

const pageSize = 50;

export function Events() {
  const [query, change] = useQueryPart();
  const kind = kinds.find(([value]) => value === query.get('kind'))?.[0] ?? '';
  const owner = query.get('owner') ?? '';
  const [text, setText] = useState(owner);
  return (
    <Page title="Events">
      <search>
        <form
          class="fields"
          onSubmit={event => {
            event.preventDefault();
            change({ owner: text.trim() });
          }}
        >
          <Choice label="Show" value={kind} onChoice={value => change({ kind: value })} options={kinds} />
          <Field label="Owner" type="search" value={text} onInput={setText} />
          <button type="submit">Show</button>
        </form>
      </search>
      <EventList
        asked={{
          kind: kind === '' ? undefined : kind,
          owner: owner === '' ? undefined : owner,
          limit: pageSize,
        }}
      />
    </Page>
  );
}
