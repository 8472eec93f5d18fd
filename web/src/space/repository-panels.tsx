/**
 * Panels of one repository: its figures, the files and refs that take the space, and for administrators a
 * button that collects its garbage.
 */

import { useQuery } from '@tanstack/preact-query';
import { useEffect, useState } from 'preact/hooks';
import { formatBytes, printable } from '../../../src/text.ts';
import type { ReclaimRun, SpaceAnswer } from '../../../src/wire/index.ts';
import { refresh } from '../api/client.ts';
import { reclaimNow, reclaimsQuery, type SpaceOf, spaceQuery } from '../api/space-queries.ts';
import { announce } from '../parts/announcer.tsx';
import { Button, useAction } from '../parts/button.tsx';
import { Size, Time } from '../parts/figures.tsx';
import { Fact, Panel } from '../parts/page.tsx';
import { Fault, Query } from '../parts/states.tsx';
import { Takers } from './takers.tsx';

interface RepositoryPanelsProps {
  readonly of: SpaceOf;
  readonly owner: string;
  readonly repo: string;
}

export function RepositoryPanels({ of, owner, repo }: RepositoryPanelsProps) {
  const [newerThan, setNewerThan] = useState<string | null>(null);
  return (
    <Query of={spaceQuery({ of, repo, newerThan })} what="what takes the space" rows={10}>
      {answer => (
        <>
          <Figures
            answer={answer}
            onMeasureAgain={() => setNewerThan(answer.reported_at ?? new Date().toISOString())}
          >
            {of.is === 'owner' && <Reclaim repository={`${owner}/${repo}`} />}
          </Figures>
          {answer.report !== null && <Takers report={answer.report} />}
        </>
      )}
    </Query>
  );
}

interface FiguresProps {
  readonly answer: SpaceAnswer;
  readonly onMeasureAgain: () => void;
  readonly children: preact.ComponentChildren;
}

function Figures({ answer, onMeasureAgain, children }: FiguresProps) {
  const { repositories, report, reported_at: reportedAt, state, message } = answer;
  const [repository] = repositories;
  const isRunning = state === 'running';
  useMeasured(isRunning);
  return (
    <Panel
      title={printable(repository?.name ?? '')}
      actions={
        <Button disabled={isRunning} onClick={onMeasureAgain}>
          Measure again
        </Button>
      }
    >
      <dl class="facts">
        <Fact name="Stored">
          <Size bytes={repository?.stored_bytes ?? null} />
        </Fact>
        <Fact name="Reachable">
          <Size bytes={report?.reachable_bytes ?? repository?.reachable_bytes ?? null} />{' '}
          <span class="quiet-text">by branches, tags and other refs</span>
        </Fact>
        <Fact name="Unreachable">
          <Size bytes={report?.unreachable_bytes ?? repository?.unreachable_bytes ?? null} />{' '}
          <span class="quiet-text">freed by the server’s next garbage collection</span>
        </Fact>
        {report !== null && report.kept_bytes > 0 && (
          <Fact name="Kept">
            <Size bytes={report.kept_bytes} />{' '}
            <span class="quiet-text">in packs that a .keep file protects: no collection touches them</span>
          </Fact>
        )}
        {report !== null && report.leftover_bytes > 0 && (
          <Fact name="Leftovers">
            <Size bytes={report.leftover_bytes} />{' '}
            <span class="quiet-text">of broken pushes; the next garbage collection removes them</span>
          </Fact>
        )}
      </dl>
      {isRunning && (
        <p class="row" role="status">
          <progress aria-label="The repository is being measured" /> The repository is being measured. This
          takes some seconds.
        </p>
      )}
      {state === 'failed' && (
        <p class="fault-text" role="alert">
          The repository could not be measured: {printable(message ?? '')}
        </p>
      )}
      {reportedAt !== null && (
        <p class="quiet-text small">
          Measured <Time at={reportedAt} />.
        </p>
      )}
      {children}
    </Panel>
  );
}

/** Announces the end of a measurement. */
function useMeasured(isRunning: boolean): void {
  const [wasRunning, setWasRunning] = useState(isRunning);
  useEffect(() => {
    if (wasRunning && !isRunning) announce('The repository is measured.');
    setWasRunning(isRunning);
  }, [isRunning, wasRunning]);
}

export function Reclaim({ repository }: { readonly repository: string }) {
  const [begun, setBegun] = useState<ReclaimRun | null>(null);
  const { start, isBusy, failure } = useAction<void>(async () => setBegun(await reclaimNow(repository)));
  return (
    <div class="row">
      {begun === null ? (
        <Button look="primary" disabled={isBusy} onClick={() => void start()}>
          Reclaim now
        </Button>
      ) : (
        <Followed key={begun.id} begun={begun} isBusy={isBusy} onAgain={() => void start()} />
      )}
      {failure !== null && <Fault of={failure} />}
    </div>
  );
}

interface FollowedProps {
  readonly begun: ReclaimRun;
  /** True while another run is being started. */
  readonly isBusy: boolean;
  readonly onAgain: () => void;
}

function Followed({ begun, isBusy, onAgain }: FollowedProps) {
  const { data: runs } = useQuery(reclaimsQuery);
  const run = runs?.find(({ id }) => id === begun.id) ?? begun;
  const isRunning = run.state === 'running';
  useEffect(() => {
    if (isRunning) return;
    announce(words(run));
    // The collection changed the figures.
    void refresh();
  }, [isRunning]);
  return (
    <>
      <Button look="primary" disabled={isRunning || isBusy} onClick={onAgain}>
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
