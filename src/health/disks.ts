/** Findings about the space on the disks. */

import { formatBytes } from '../text/index.ts';
import { type Finding, makeFinding } from './make-finding.ts';
import { commandLine } from './mend.ts';
import { type Observed, shortageWords } from './observed.ts';

export function diskFindings(observed: Observed): readonly Finding[] {
  return [...shortages(observed), ...outlooks(observed)];
}

const soonMs = 30 * 86_400_000;

function outlooks({ outlook, keepsFree, now }: Observed): Finding[] {
  const { promisedBytes, sizeBytes, fullAt } = outlook;
  const isFullSoon = fullAt !== null && fullAt - now < soonMs;
  const isOvercommitted = sizeBytes > 0 && promisedBytes > sizeBytes && !keepsFree;
  return [
    ...(isFullSoon
      ? [
          makeFinding(
            'disk_full_soon',
            `at the growth of the last weeks the disks are full on ${new Date(fullAt).toISOString().slice(0, 10)}`,
            'softquota usage  # the largest owners first',
          ),
        ]
      : []),
    ...(isOvercommitted
      ? [
          makeFinding(
            'overcommitted',
            `the limits promise ${formatBytes(promisedBytes)}, and the disks have ${formatBytes(sizeBytes)}`,
            'set [disk] MIN_FREE, such as 5%, so that the disks do not fill, or lower the limits',
          ),
        ]
      : []),
  ];
}

function shortages({ shortDisks }: Observed): Finding[] {
  return shortDisks.map(short =>
    makeFinding(
      short.state === 'full' ? 'disk_full' : 'disk_low',
      shortageWords(short),
      `delete data, or give it more space: ${commandLine('df', '-h', short.path)}`,
    ),
  );
}
