/** The answer to a request for more space. */

import type { SpaceRequest } from '../../../src/wire/index.ts';
import { Size, Time } from './figures.tsx';
import { Name } from './name.tsx';

const marks: Readonly<Record<SpaceRequest['state'], string>> = {
  open: 'near',
  granted: 'good',
  declined: 'bad',
  withdrawn: '',
};

export function RequestAnswer({ request: { state, answer } }: { readonly request: SpaceRequest }) {
  const { granted = null, words = '', automatic = false, by = null } = answer ?? {};
  return (
    <>
      <span class={`mark ${marks[state]}`}>{state}</span>
      {automatic && ' automatically'}
      {by !== null && (
        <>
          {' '}
          by <Name>{by}</Name>
        </>
      )}
      {granted !== null && (
        <>
          : <Size bytes={granted.bytes} /> until <Time at={granted.until} />
        </>
      )}
      {words !== '' && (
        <p class="quiet-text">
          <Name>{words}</Name>
        </p>
      )}
    </>
  );
}
