/** OAuth2 sources: the providers that people sign in by, and what their claims do to quota groups. */

import { useQuery } from '@tanstack/preact-query';
import { useState } from 'preact/hooks';
import { printable } from '../../../src/text/index.ts';
import type { SavedSource, Source } from '../../../src/wire/index.ts';
import { authsQuery, deleteSource } from '../api/auth-queries.ts';
import { Links } from '../auths/links.tsx';
import { SourceForm } from '../auths/source-form.tsx';
import { UnmappedGroups } from '../auths/unmapped-groups.tsx';
import { Button } from '../parts/button.tsx';
import { Confirm } from '../parts/dialog.tsx';
import { Name } from '../parts/name.tsx';
import { Page } from '../parts/page.tsx';
import { Answered } from '../parts/states.tsx';
import { RowButton, Table } from '../parts/table.tsx';

/** Form that is open: a new source, or one by its id. */
type Open = 'new' | number | null;

export function Auths() {
  const sources = useQuery(authsQuery);
  const [open, setOpen] = useState<Open>(null);
  const [saved, setSaved] = useState<SavedSource | null>(null);
  const [deleting, setDeleting] = useState<Source | null>(null);
  const edited = sources.data?.find(({ id }) => id === open);
  const show = (next: Open) => {
    setSaved(null);
    setOpen(next);
  };
  return (
    <Page
      help="auths"
      title="OAuth2 sources"
      actions={<Button onClick={() => show('new')}>New source</Button>}
    >
      {saved !== null && <Saved source={saved} />}
      <Answered query={sources} what="the sources" rows={2}>
        {list => <List sources={list} onEdit={show} onDelete={setDeleting} />}
      </Answered>
      {open === 'new' && (
        <SourceForm
          onSaved={source => {
            setSaved(source);
            setOpen(source.id);
          }}
          onCancel={() => show(null)}
        />
      )}
      {edited !== undefined && (
        <>
          <SourceForm key={edited.id} source={edited} onSaved={setSaved} onCancel={() => show(null)} />
          <UnmappedGroups source={edited} />
          <Links source={edited.id} />
        </>
      )}
      {deleting !== null && (
        <Confirm
          title={`Delete the source ${printable(deleting.name)}?`}
          action="Delete the source"
          done="The source is deleted."
          isDangerous
          act={async () => {
            await deleteSource(deleting.id);
            show(null);
          }}
          onClose={() => setDeleting(null)}
        >
          <p>
            Nobody can sign in with this source any more. Its users are signed out, and administrators whom it
            made are no longer administrators. Users and their quota groups do not change.
          </p>
        </Confirm>
      )}
    </Page>
  );
}

function Saved({ source: { name, redirect_uri: redirectUri, warning } }: { source: SavedSource }) {
  return (
    <div class="state" role="status">
      <p>
        <Name>{name}</Name> is saved. Its redirect URI, to be entered at the provider:{' '}
        <code>{redirectUri}</code>
      </p>
      {warning !== null && (
        <p>
          <span class="mark near">warning</span> {printable(warning)}
        </p>
      )}
    </div>
  );
}

interface ListProps {
  readonly sources: readonly Source[];
  readonly onEdit: (id: number) => void;
  readonly onDelete: (source: Source) => void;
}

function List({ sources, onEdit, onDelete }: ListProps) {
  return (
    <Table
      caption="OAuth2 sources"
      empty="No sources yet. With a source, users sign in with your identity provider, and their quota groups follow the groups that the provider claims for them."
      rows={sources}
      keyOf={({ id }) => id}
      columns={[
        { title: 'Name', cell: ({ name }) => <Name>{name}</Name> },
        {
          title: 'Provider',
          isWide: true,
          cell: source => <code>{printable(source.openid_connect_auto_discovery_url)}</code>,
        },
        { title: 'State', cell: source => <State source={source} /> },
        {
          title: 'Change',
          cell: source => (
            <span class="row">
              <RowButton words="Edit" about={printable(source.name)} onClick={() => onEdit(source.id)} />
              <RowButton words="Delete" about={printable(source.name)} onClick={() => onDelete(source)} />
            </span>
          ),
        },
      ]}
    />
  );
}

function State({ source }: { source: Source }) {
  const { is_active: isActive, client_secret_state: secret, unknown_quota_groups: unknown } = source;
  return (
    <>
      <span class={`mark ${isActive ? 'good' : ''}`}>{isActive ? 'active' : 'switched off'}</span>{' '}
      {secret === 'unreadable' && <span class="mark bad">secret unreadable</span>}{' '}
      {unknown.length > 0 && (
        <span class="mark near" title={unknown.map(printable).join(', ')}>
          unknown groups
        </span>
      )}
    </>
  );
}
