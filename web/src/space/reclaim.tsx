/** Collecting garbage in a repository now, for administrators: started, followed, and what came of it. */

import { useQuery } from '@tanstack/preact-query';
import { useEffect, useState } from 'preact/hooks';
import { formatBytes, printable } from '../../../src/text/index.ts';
import type { ReclaimRun } from '../../../src/wire/index.ts';
import { refresh } from '../api/client.ts';
import { reclaimNow, reclaimsQuery } from '../api/space-queries.ts';
import { useAction } from '../parts/action.ts';
import { announce } from '../parts/announcer.tsx';
import { Button } from '../parts/button.tsx';
import { Fault } from '../parts/states.tsx';

export function Reclaim({ repository }: { readonly repository: string }) {
  const [begun, setBegun] = useState<ReclaimRun | null>(null);
  const { start, failure } = useAction<void>(async () => setBegun(await reclaimNow(repository)));
  return (
    <div class="row">
      {begun === null ? (
        <Button look="primary" onClick={() => void start()}>
          Reclaim now
        </Button>
      ) : (
        <Followed key={begun.id} begun={begun} onAgain={() => void start()} />
      )}
      {failure !== null && <Fault of={failure} />}
    </div>
  );
}

function Followed({ begun, onAgain }: { readonly begun: ReclaimRun; readonly onAgain: () => void }) {
  const { data: runs } = useQuery(reclaimsQuery);
  const run = runs?.find(({ id }) => id === begun.id) ?? begun;
  const isRunning = run.state === 'running';
  useEffect(() => {
    if (isRunning) return;
    announce(words(run));
    // The figures are others now.
    void refresh();
  }, [isRunning]);
  return (
    <>
      <Button look="primary" disabled={isRunning} onClick={onAgain}>
        Reclaim now
      </Button>
      {isRunning && <progress aria-label="Garbage is being collected" />}
      <span class={run.state === 'failed' ? 'fault-text' : ''}>{words(run)}</span>
    </>
  );
}

function words({ state, freed_bytes: freed, unreachable_bytes: stays, message }: ReclaimRun): string {
  switch (state) {
    case 'running':
      return 'Garbage is being collected.';
    case 'failed':
      return `The collection failed: ${printable(message ?? '')}`;
    case 'done': {
      const left =
        stays === null || stays === 0
          ? ''
          : ` ${formatBytes(stays)} became unreachable recently, and stay until a later garbage collection.`;
      return `${freed === null || freed <= 0 ? 'Nothing was freed.' : `${formatBytes(freed)} freed.`}${left}`;
    }
  }
}
