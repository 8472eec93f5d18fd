/** Advice on how to free space, for the largest kinds of data first, and the contact. */

import type { Leaf, Usage } from '../../../src/quota/index.ts';
import { Kind } from '../parts/bar.tsx';
import { Size } from '../parts/figures.tsx';
import { Name } from '../parts/name.tsx';
import { Panel } from '../parts/page.tsx';
import { portions } from '../usage.ts';

/** Smallest share of all stored bytes for which advice is given. */
const worthwhile = 0.05;

const inRepositories =
  'Delete repositories that nobody needs. In other repositories, delete branches and tags with large files. The disk has their space back at the server’s next garbage collection (git gc).';

const advice: Readonly<Record<Leaf, string>> = {
  'size:repos:public': inRepositories,
  'size:repos:private': inRepositories,
  'size:git:lfs':
    'Objects that no branch needs any more stay until the server removes them, or until their repository is deleted.',
  'size:assets:attachments:issues': 'Delete large files from issues and comments.',
  'size:assets:attachments:releases': 'Delete files of old releases, or the releases.',
  'size:assets:artifacts': 'Delete artifacts of old runs, and set a shorter storage time for new artifacts.',
  'size:assets:packages:all': 'Delete versions of packages that nobody installs any more.',
  'size:assets:wiki':
    'Large files stay in the history of a wiki. Ask the administrator to shorten the history, or delete the wiki.',
};

interface AdviceProps {
  readonly usage: Usage;
  readonly contact: string | null;
  /** True if the page has a form for requests. */
  readonly mayAsk: boolean;
}

export function Advice({ usage, contact, mayAsk }: AdviceProps) {
  const largest = advised(usage);
  return (
    <Panel title="How to free space">
      <p>You can always delete data, even over the limit.</p>
      {largest.length > 0 && (
        <dl class="advice">
          {largest.map(({ words, kinds }) => (
            <div key={words}>
              <dt class="row">
                {kinds.map(({ leaf, bytes }) => (
                  <span key={leaf}>
                    <Kind leaf={leaf} /> <Size bytes={bytes} />
                  </span>
                ))}
              </dt>
              <dd>{words}</dd>
            </div>
          ))}
        </dl>
      )}
      <p>
        {contact === null ? (
          `If that is not enough, ask for more space${mayAsk ? ' below' : ': turn to the administrator'}.`
        ) : (
          <>
            If that is not enough, ask for more space: <Contact>{contact}</Contact>
          </>
        )}
      </p>
    </Panel>
  );
}

/** Groups kinds of data with the same advice. */
function advised(usage: Usage) {
  const total = usage.reduce((sum, bytes) => sum + bytes, 0);
  const largest = portions(usage)
    .filter(({ bytes }) => bytes >= total * worthwhile)
    .toSorted((a, b) => b.bytes - a.bytes);
  return [...Map.groupBy(largest, ({ leaf }) => advice[leaf])].map(([words, kinds]) => ({ words, kinds }));
}

/** Shows the administrator's contact: a text, an address or a link. */
export function Contact({ children }: { children: string }) {
  if (/^https?:\/\/\S+$/.test(children)) return <a href={children}>{children}</a>;
  if (/^[^\s@]+@[^\s@]+$/.test(children)) return <a href={`mailto:${children}`}>{children}</a>;
  return <Name>{children}</Name>;
}
