/**
 * All that the worker does with a repository, in a process of its own, as it is in truth: does what it is
 * asked by name, and says whether that failed, and whether it failed in a way that the worker knows.
 */

import { dirname } from 'node:path';
import { messageOf, SoftquotaError, systemCode } from '../../../src/errors.ts';
import { judgePush } from '../../../src/git/worker/judge/judge.ts';
import { Quarantines } from '../../../src/git/worker/quarantines/quarantines.ts';
import { refsSignature } from '../../../src/git/worker/refs-signature.ts';
import { RepositoryWalk } from '../../../src/git/worker/repository-walk.ts';
import { collect } from '../../../src/git/worker/space/collect.ts';
import { explainSpace } from '../../../src/git/worker/space/explain.ts';
import { UnusableRepository } from '../../../src/git/worker/space/git.ts';
import { measure } from '../../../src/git/worker/space/measure.ts';
import { withView } from '../../../src/git/worker/space/view.ts';
import { keepHeapSmall } from '../../../src/heap.ts';
import { alternatesOf } from '../../../src/scan/index.ts';
import { storage } from '../../layout/world.ts';
import { limits, program } from './space/world.ts';

export interface Asked {
  readonly work: string;
  readonly path: string;
  readonly timeoutMs: number;
  /** Bytes that each git may take. */
  readonly memoryBytes: number;
}

export interface Done {
  /** Null: nothing failed. */
  readonly why: string | null;
  readonly isKnown: boolean;
}

type Limits = typeof limits & Pick<Asked, 'memoryBytes'>;

const works: Readonly<Record<string, (path: string, limits: Limits) => unknown>> = {
  signature: refsSignature,
  alternates: path => [...alternatesOf(`${path}/objects`, true)],
  collection: (path, limits) =>
    withView(path, { program }, limits, view => collect(view, { expireMs: 600_000, now: Date.now })),
  measurement: (path, limits) => withView(path, { program }, limits, measure),
  report: (path, limits) => withView(path, { program }, limits, view => explainSpace(view)),
  judgement: (path, limits) =>
    judgePush(
      {
        path,
        quarantine: null,
        lines: `${'1'.repeat(40)} ${'0'.repeat(40)} refs/heads/main\n`,
        hidden: [],
        manner: 'any',
        objects: `${path}/objects`,
      },
      program,
      limits,
    ),
  quarantines: async path => {
    const repositories = new RepositoryWalk({
      storages: [storage({ templates: [`${dirname(dirname(path))}/{owner}/{repo}.git`] })],
      exclude: [],
      everyMs: 60_000,
    });
    const log = { info: () => {}, warn: () => {} };
    await new Quarantines({ repositories, isAlone: true, log, changed: () => {} }).removeIn(path);
    await repositories.close();
  },
};

export const workNames = Object.keys(works);

async function done({ work, path, timeoutMs, memoryBytes }: Asked): Promise<Done> {
  try {
    await works[work]?.(path, { ...limits, timeoutMs, memoryBytes });
    return { why: null, isKnown: true };
  } catch (error) {
    const isKnown =
      error instanceof UnusableRepository || error instanceof SoftquotaError || systemCode(error) !== null;
    return { why: messageOf(error), isKnown };
  }
}

if (process.send !== undefined) {
  keepHeapSmall();
  process.on('message', (asked: Asked) => void done(asked).then(answer => process.send?.(answer)));
}
