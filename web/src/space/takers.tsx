/** Files and refs, ordered by the space that their removal frees, with the commands for it. */

import type { ComponentChildren } from 'preact';
import { counted, printable } from '../../../src/text.ts';
import { gitlabMaintenance, isKeptByGitlab } from '../../../src/wire/hidden-refs.ts';
import type { SpaceReport } from '../../../src/wire/index.ts';
import { announce } from '../parts/announcer.tsx';
import { Button } from '../parts/button.tsx';
import { Size } from '../parts/figures.tsx';
import { Path } from '../parts/name.tsx';
import { Panel } from '../parts/page.tsx';
import { Empty } from '../parts/states.tsx';

export function Takers({ report }: { readonly report: SpaceReport }) {
  const { paths, refs, namespaces, lfs, cut } = report;
  if (report.objects === 0) return <Empty>There is nothing to free: the repository is empty.</Empty>;
  return (
    <>
      <Panel title="Files, over the whole history">
        <p>
          Deleting a file in a new commit frees nothing: older commits still have it. To remove it from the
          whole history, run the commands in a fresh clone, with{' '}
          <a href="https://github.com/newren/git-filter-repo">git filter-repo</a>. Everybody has to clone
          again afterwards.
        </p>
        <ul class="takers">
          {paths.map(
            ({ path, other_names: others, frees, versions, in_default_branch: isThere, commands }) => (
              <Taker key={path} name={path} frees={frees} commands={commands} verb="remove">
                {counted(versions, 'version', 'versions')}
                {isThere ? '' : ', not in the default branch any more'}
                {others.length > 0 && `, also named ${others.map(printable).join(', ')}`}
              </Taker>
            ),
          )}
        </ul>
      </Panel>
      <Panel title="Branches and tags">
        {refs.length === 0 ? (
          <p>Deleting one branch or tag frees nothing: others hold the same data.</p>
        ) : (
          <div class="stack">
            <p>Deleting a branch or tag frees the data that no other one holds.</p>
            <ul class="takers">
              {refs.map(({ name, frees, commits, commands, default_branch: isDefault }) => (
                <Taker key={name} name={name} frees={frees} commands={commands} verb="delete">
                  {counted(commits, 'commit', 'commits')} of its own
                  {isDefault ? ', the default branch' : ''}
                </Taker>
              ))}
            </ul>
          </div>
        )}
        {namespaces.map(({ name, refs: count, bytes }) => (
          <p key={name}>
            {name === 'reflogs' ? (
              'Reflogs'
            ) : (
              <>
                {counted(count, 'ref', 'refs')} in {printable(name)}
              </>
            )}{' '}
            alone hold <Size bytes={bytes} />; a push cannot delete them.
            {isKeptByGitlab(name) ? ` ${gitlabMaintenance}` : ''}
          </p>
        ))}
      </Panel>
      {lfs !== null && lfs.count > 0 && <UnneededLfs lfs={lfs} />}
      {cut && <p class="quiet-text">There was not enough time to examine everything.</p>}
    </>
  );
}

interface TakerProps {
  readonly name: string;
  readonly frees: number;
  readonly commands: readonly string[];
  readonly verb: 'delete' | 'remove';
  readonly children: ComponentChildren;
}

function Taker({ name, frees, commands, verb, children }: TakerProps) {
  return (
    <li>
      <div class="taker">
        <Path>{name}</Path>
        <span>
          frees <Size bytes={frees} />
        </span>
      </div>
      <p class="quiet-text small">{children}</p>
      {commands.length > 0 && (
        <details>
          <summary>
            How to {verb} it<span class="visually-hidden">: {printable(name)}</span>
          </summary>
          <Lines lines={commands} />
        </details>
      )}
    </li>
  );
}

function UnneededLfs({ lfs }: { readonly lfs: NonNullable<SpaceReport['lfs']> }) {
  return (
    <Panel title="Unused LFS objects">
      <p>
        {counted(lfs.count, 'object', 'objects')} of <Size bytes={lfs.bytes} /> are used by no file of any
        version. Pushing and <code>git lfs prune</code> do not remove them from the server: an administrator
        deletes them, or has the forge do it.
      </p>
      <ul class="takers">
        {lfs.largest.map(({ oid, bytes }) => (
          <li key={oid} class="taker">
            <code>{oid}</code>
            <Size bytes={bytes} />
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** Commands for a shell, with a button to copy them. */
function Lines({ lines }: { readonly lines: readonly string[] }) {
  const text = lines.join('\n');
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    announce('The commands are copied.');
  };
  return (
    <div class="lines">
      <pre>{text}</pre>
      {/* Over plain http, browsers provide no clipboard. */}
      {'clipboard' in navigator && <Button onClick={() => void copy()}>Copy</Button>}
    </div>
  );
}
