/** Collecting garbage in a repository now, for administrators: started, followed, and what came of it. */

import { useQuery } from '@tanstack/preact-query';
import { useEffect, useState } from 'preact/hooks';
import { formatBytes, printable } from '../../../src/text/index.ts';
import type { ReclaimRun } from '../../../src/wire/index.ts';
import { refresh } from '../api/client.ts';
import { reclaimNow, reclaimsQuery } from '../api/space-queries.ts';
import { announce } from '../parts/announcer.tsx';
import { Fault } from '../parts/states.tsx';

export function Reclaim({ repository }: { readonly repository: string }) {
  const [begun, setBegun] = useState<ReclaimRun | null>(null);
  const [failure, setFailure] = useState<unknown>(null);
  const start = async () => {
    try {
      setBegun(await reclaimNow(repository));
      setFailure(null);
    } catch (error) {
      setFailure(error);
    }
  };
  return (
    <div class="row">
      {begun === null ? (
        <button type="button" class="primary" onClick={() => void start()}>
          Reclaim now
        </button>
      ) : (
        <Followed key={begun.id} begun={begun} onAgain={() => void start()} />
      )}
      {failure !== null && <Fault of={failure} />}
    </div>
  );
}

interface FollowedProps {
  readonly begun: ReclaimRun;
  readonly onAgain: () => void;
}

function Followed({ begun, onAgain }: FollowedProps) {
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
      <button type="button" class="primary" disabled={isRunning} onClick={onAgain}>
        Reclaim now
      </button>
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
